// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/plan/sparse_input.h"

#include <cmath>

#include "libsten/core/registry/registry.h"
#include "libsten/core/registry/structure.h"
#include "libsten/core/sparsify/block_magnitude.h"
#include "libsten/programs/measure/measure.h"

namespace sten {

std::optional<Mask> where_stored(const Checkpoint& in, const TensorInfo& t, const Dense& x,
                                 const Spec& sparsifier) {
  if (!t.is_sparse()) return std::nullopt;
  if (sparsifier.is(BlockMagnitude::name)) {
    const BlockMagnitude blocks = BlockMagnitude::make(sparsifier);
    return blocks.expand(x.extents, value_mask(blocks.sums(x.to(Device::cpu))));
  }
  const auto own = own_layout(sparsifier);
  if (own && is_structure(*own)) return std::nullopt;
  const Tensor tensor = in.load(*in.find(t.name));
  return tensor.has_fillers() ? value_mask(x.to(Device::cpu)) : tensor.stored();
}

Mask both(Mask a, const Mask& b) {
  const Device device = a.device();
  a = a.to(Device::cpu);
  std::uint8_t* bits = a.bits.mutate();
  for (Index i = 0; i < ceil_div(a.size(), 8); ++i) bits[i] &= b.bits.data()[i];
  return a.to(device);
}

Mask select_stored(const Dense& x, const Dense& scores, const Mask& stored, Spec sparsifier) {
  const Index n = x.size(), count = stored.count();
  const Index keep = n - std::llround(sparsifier.number("sparsity") * static_cast<double>(n));
  if (keep >= count) return stored;
  Dense values = Dense::zeros(x.dtype(), {count}), ranked = Dense::zeros(scores.dtype(), {count});
  for (Index i = 0, k = 0; i < n; ++i) {
    if (!stored[i]) continue;
    values.values.put(k, x.values, i);
    ranked.values.put(k++, scores.values, i);
  }
  const double sparsity = static_cast<double>(count - keep) / static_cast<double>(count);
  sparsifier.set("sparsity", fmt::format("{}", sparsity));
  const Mask kept =
      registry().sparsifier(sparsifier).select(values, Hints{nullptr, &ranked, nullptr});
  Mask out = Mask::none(x.extents);
  for (Index i = 0, k = 0; i < n; ++i)
    if (stored[i] && kept[k++]) out.set(i, true);
  return out;
}

}  // namespace sten
