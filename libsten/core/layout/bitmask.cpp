// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/layout/bitmask.h"

#include "kernels/elementwise.h"
#include "libsten/core/base/error.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/layout/masked.h"
#include "libsten/core/tensor/device_view.h"
#include "libsten/core/tensor/occupancy.h"

namespace sten {
namespace {

// Calls f(begin, end, kept elements before begin) for ranges of the elements, in parallel.
template <class F>
void for_each_run(const Array<std::uint8_t>& mask, Index n, F&& f) {
  std::vector<Index> before(ceil_div(n, mask_grain) + 1);
  parallel_for(n, mask_grain, [&](Index begin, Index end) {
    before[begin / mask_grain + 1] = count_bits(mask.data(), begin, end);
  });
  for (std::size_t i = 1; i < before.size(); ++i) before[i] += before[i - 1];
  parallel_for(n, mask_grain,
               [&](Index begin, Index end) { f(begin, end, before[begin / mask_grain]); });
}

}  // namespace

Bitmask Bitmask::pack(const Dense& x, const Mask& keep, const Spec&) {
  check_same_shape(x, keep);
  Bitmask b{x.extents, keep.bits, Values::uninitialized(x.dtype(), keep.count(), x.device())};
  if (x.device() != Device::cpu) {
    std::byte* to = b.values.mutate_bytes();
    launch(&kernels::ElementwiseFunctions::compress, elements_of(x.values), keep.bits.data(), to);
    return b;
  }
  with_width(x.values.width(), [&]<class U>(U) {
    const auto from = x.values.as<U>();
    const auto to = b.values.mutate<U>();
    const auto& kernel = kernels::elementwise().of<U>();
    for_each_run(keep.bits, x.size(), [&](Index begin, Index end, Index at) {
      kernel.compress(from.data() + begin, keep.bits.data() + begin / 8, end - begin,
                      to.data() + at);
    });
  });
  return b;
}

Dense Bitmask::to_dense() const {
  const Index n = size_of(extents);
  Dense x{extents, Values::uninitialized(values.dtype(), n, values.device())};
  if (values.device() != Device::cpu) {
    std::byte* to = x.values.mutate_bytes();
    launch(&kernels::ElementwiseFunctions::expand, values.bytes().data(), values.width(),
           mask.data(), n, to);
    return x;
  }
  with_width(values.width(), [&]<class U>(U) {
    const auto from = values.as<U>();
    const auto to = x.values.mutate<U>();
    const auto& kernel = kernels::elementwise().of<U>();
    for_each_run(mask, n, [&](Index begin, Index end, Index at) {
      kernel.expand(from.data() + at, mask.data() + begin / 8, end - begin, to.data() + begin);
    });
  });
  return x;
}

std::optional<Index> Bitmask::bytes(const Spec&, const Occupancy& of) {
  return ceil_div(of.elements(), 8) + of.stored() * of.width();
}

void Bitmask::loaded() const {
  const Index n = size_of(extents);
  check_mask_bits(mask, n);
  const Index kept = count_bits(mask.data(), 0, n);
  if (kept != values.size())
    fail("the mask keeps {} elements, but {} values are stored", kept, values.size());
}

}  // namespace sten
