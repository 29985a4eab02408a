// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/sum_over_ranks.h"

#include <cstring>

#include "libsten/core/base/hash.h"
#include "libsten/core/layout/masked.h"
#include "libsten/core/registry/registry.h"
#include "libsten/core/registry/route.h"
#include "libsten/training/comm/together.h"
#include "libsten/training/optim/kept_values.h"

namespace sten {
namespace {

// Hash of all parts but the values.
std::uint64_t hash_of_structure(const Tensor& x) {
  std::uint64_t hash = hash_of_text(x.spec().str());
  for (const Part& p : x.save().parts)
    if (p.name != "values") hash = hash_bytes(hash, std::span<const std::byte>(p.bytes));
  return hash;
}

Tensor summed_values(Communicator& ranks, Tensor x, Transport by) {
  return Tensor::update(std::move(x), [&](Values& v) { ranks.sum(v.mutate<float>(), by); });
}

// The sum at the positions that the mask keeps; 0 elsewhere.
Tensor summed_kept(Communicator& ranks, const Tensor& masked, Transport by) {
  std::vector<float> values(static_cast<std::size_t>(kept_count(masked)));
  gather_kept(masked, masked.values()->as<float>().data(), values.data());
  ranks.sum(values, by);
  return Tensor::update(
      masked, [&](Values& v) { scatter_kept(masked, values.data(), v.mutate<float>().data()); });
}

// The union of the ranks' positions.
Mask united(Communicator& ranks, Mask m) {
  std::vector<std::uint64_t> words(static_cast<std::size_t>(ceil_div(m.size(), 64)));
  std::memcpy(words.data(), m.bits.data(), static_cast<std::size_t>(m.bits.size()));
  ranks.unite(words);
  Mask all = Mask::none(m.extents);
  std::memcpy(all.bits.mutate(), words.data(), static_cast<std::size_t>(all.bits.size()));
  return all;
}

}  // namespace

SumOverRanks sum_over_ranks(Communicator& ranks, const Tensor& mine, Transport by) {
  const std::string kind = fmt::format("{} {}", name_of(mine.dtype()), to_string(mine.shape()));
  if (const auto d = rank_difference(ranks, kind))
    fail_usage("ranks sum different tensors: {} on rank 0, {} on rank {}", d->first, d->theirs,
               d->rank);
  if (mine.dtype() != DType::F32)
    fail_usage("sum over ranks: expected F32, got {}", name_of(mine.dtype()));
  const std::string layout = mine.spec().str();
  const Index elements = size_of(mine.shape());
  const auto all_values = [&](std::string why) {
    return SumOverRanks{summed_values(ranks, mine.to_dense(), by), std::move(why)};
  };
  if (const int other = differing_rank(ranks, hash_of_text(layout)))
    return all_values(fmt::format("all values: rank {} has another layout than rank 0", other));
  if (mine.is<Dense>()) return all_values("all values of dense");
  const int other = differing_rank(ranks, hash_of_structure(mine));
  if (other == 0) {
    if (mine.is<Masked>())
      return {summed_kept(ranks, mine, by),
              fmt::format("{} values of {} at the same positions", kept_count(mine), layout)};
    return {summed_values(ranks, mine, by),
            fmt::format("{} values of {} at the same positions", mine.values()->size(), layout)};
  }
  const Mask mask = united(ranks, mine.stored());
  const Index kept = mask.count();
  const auto width = static_cast<Index>(bytes_of(by));
  if (ceil_div(elements, 8) + width * kept >= width * elements)
    return all_values(fmt::format(
        "all values: rank {} has other positions than rank 0, and together they are {} of {}",
        other, kept, elements));
  const Tensor here = Masked{mine.shape(), mine.to_dense().values, mask.bits};
  Tensor sum = summed_kept(ranks, here, by);
  if (registry().holds_any_pattern(mine.layout())) sum = convert(sum, mine.spec());
  return {
      std::move(sum),
      fmt::format("{} values at the union of positions: rank {} differs from rank 0", kept, other)};
}

}  // namespace sten
