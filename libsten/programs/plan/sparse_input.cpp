// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/plan/sparse_input.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "libsten/core/base/floats.h"
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

namespace {

// Adds the `keep` best of the candidates to `out`.
void add_best(const Dense& x, const Dense& scores, const Mask& candidates, Index keep,
              Spec sparsifier, Mask& out) {
  const Index n = x.size(), count = candidates.count();
  Dense values = Dense::zeros(x.dtype(), {count}), ranked = Dense::zeros(scores.dtype(), {count});
  for (Index i = 0, k = 0; i < n; ++i) {
    if (!candidates[i]) continue;
    values.values.put(k, x.values, i);
    ranked.values.put(k++, scores.values, i);
  }
  Mask best = Mask::all({count});
  if (keep < count) {
    const double sparsity = static_cast<double>(count - keep) / static_cast<double>(count);
    sparsifier.set("sparsity", fmt::format("{}", sparsity));
    best = registry().sparsifier(sparsifier).select(values, Hints{nullptr, &ranked, nullptr});
  }
  for (Index i = 0, k = 0; i < n; ++i)
    if (candidates[i] && best[k++]) out.set(i, true);
}

}  // namespace

Mask select_stored(const Dense& x, const Dense& scores, const Mask& stored,
                   const Spec& sparsifier) {
  const Index n = x.size(), count = stored.count();
  const Index keep = n - std::llround(sparsifier.number("sparsity") * static_cast<double>(n));
  if (keep >= count) return stored;
  const Mask nonzero = value_mask(x);
  const Index nonzeros = nonzero.count();
  Mask out = Mask::none(x.extents);
  add_best(x, scores, nonzero, std::min(keep, nonzeros), sparsifier, out);
  if (keep <= nonzeros) return out;
  Mask zero = stored;
  for (Index i = 0; i < n; ++i)
    if (nonzero[i]) zero.set(i, false);
  add_best(x, scores, zero, keep - nonzeros, sparsifier, out);
  return out;
}

Dense scores_by_nonzeros(const Dense& x, const Dense& scores) {
  const bool is_wide = scores.dtype() == DType::F64;
  Dense out = Dense::zeros(is_wide ? DType::F64 : DType::F32, x.extents);
  const Mask nonzero = value_mask(x);
  const auto fill = [&]<class T>(std::span<T> to) {
    with_float(scores.dtype(), [&]<class E>(E) {
      const auto from = scores.values.as<typename E::Bits>();
      for (Index i = 0; i < x.size(); ++i)
        to[i] =
            nonzero[i] ? static_cast<T>(E::decode(from[i])) : -std::numeric_limits<T>::infinity();
    });
  };
  if (is_wide)
    fill(out.values.mutate<double>());
  else
    fill(out.values.mutate<float>());
  return out;
}

}  // namespace sten
