// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/optim/kept_values.h"

#include <algorithm>
#include <vector>

#include "kernels/elementwise.h"
#include "libsten/core/base/parallel.h"

namespace sten {
namespace {

// before[b]: kept elements before block b of mask_grain elements; the last entry counts all.
struct KeptBefore {
  std::vector<Index> before;
};

std::shared_ptr<const KeptBefore> kept_before(const Tensor& w) {
  return w.of_positions().get<KeptBefore>([&] {
    const Masked& m = w.as<Masked>();
    const Index n = size_of(m.extents);
    KeptBefore k{{0}};
    for (Index begin = 0; begin < n; begin += mask_grain)
      k.before.push_back(k.before.back() +
                         count_bits(m.mask.data(), begin, std::min(n, begin + mask_grain)));
    return k;
  });
}

// Calls f(first element, number of elements, their bits, kept elements before) for all blocks.
template <class F>
void for_blocks(const Tensor& w, F f) {
  const auto counts = kept_before(w);
  const std::uint8_t* bits = w.as<Masked>().mask.data();
  parallel_for(size_of(w.shape()), mask_grain, [&](Index begin, Index end) {
    for (Index i = begin; i < end; i += mask_grain)
      f(i, std::min(mask_grain, end - i), bits + i / 8,
        counts->before[static_cast<std::size_t>(i / mask_grain)]);
  });
}

// As bits, which are copied exactly.
using Bits = std::uint32_t;
const Bits* bits_of(const float* x) { return reinterpret_cast<const Bits*>(x); }
Bits* bits_of(float* x) { return reinterpret_cast<Bits*>(x); }

}  // namespace

Index kept_count(const Tensor& w) { return kept_before(w)->before.back(); }

void gather_kept(const Tensor& w, const float* from, float* to) {
  const auto compress = kernels::elementwise().of<Bits>().compress;
  for_blocks(w, [=](Index first, Index n, const std::uint8_t* bits, Index kept) {
    compress(bits_of(from + first), bits, n, bits_of(to + kept));
  });
}

void scatter_kept(const Tensor& w, const float* from, float* to) {
  const auto expand = kernels::elementwise().of<Bits>().expand;
  for_blocks(w, [=](Index first, Index n, const std::uint8_t* bits, Index kept) {
    expand(bits_of(from + kept), bits, n, bits_of(to + first));
  });
}

}  // namespace sten
