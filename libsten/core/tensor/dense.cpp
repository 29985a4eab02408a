// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/tensor/dense.h"

#include <algorithm>
#include <cstring>

#include "kernels/elementwise.h"
#include "libsten/core/base/error.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/tensor/device_view.h"
#include "libsten/core/tensor/occupancy.h"

namespace sten {

Dense Dense::zeros(DType dtype, Shape extents) {
  const Index n = size_of(extents);
  return {std::move(extents), Values(dtype, n)};
}

Dense Dense::of(Shape extents, std::initializer_list<float> values) {
  if (size_of(extents) != static_cast<Index>(values.size()))
    fail_usage("shape {} does not fit {} values", to_string(extents), values.size());
  return {std::move(extents), Values(DType::F32, Array<float>(values).bytes())};
}

Dense Dense::pack(const Dense& x, const Mask& keep, const Spec&) {
  check_same_shape(x, keep);
  Dense out{x.extents, Values::uninitialized(x.dtype(), x.size(), x.device())};
  if (x.device() != Device::cpu) {
    std::byte* to = out.values.mutate_bytes();
    launch(&kernels::ElementwiseFunctions::mask_values, elements_of(x.values), keep.bits.data(),
           to);
    return out;
  }
  with_width(x.values.width(), [&]<class U>(U) {
    const auto from = x.values.as<U>();
    const auto to = out.values.mutate<U>();
    const auto& kernel = kernels::elementwise().of<U>();
    parallel_for(x.size(), mask_grain, [&](Index begin, Index end) {
      kernel.mask_values(from.data() + begin, keep.bits.data() + begin / 8, end - begin,
                         to.data() + begin);
    });
  });
  return out;
}

std::optional<Index> Dense::bytes(const Spec&, const Occupancy& of) {
  return of.elements() * of.width();
}

Dense rows_of(const Dense& x, Index begin, Index end) {
  Shape shape = x.extents;
  const auto row =
      static_cast<std::size_t>(x.size() / std::max<Index>(1, shape.front()) * x.values.width());
  shape.front() = end - begin;
  Dense y{shape, Values::uninitialized(x.dtype(), size_of(shape))};
  std::memcpy(y.values.mutate_bytes(), x.values.bytes().data() + begin * row, (end - begin) * row);
  return y;
}

Mask nonzero_mask(const Dense& x) {
  Mask m = Mask::none(x.extents, x.device());
  std::uint8_t* bits = m.bits.mutate();
  if (x.device() != Device::cpu) {
    launch(&kernels::ElementwiseFunctions::nonzero_bits, elements_of(x.values), bits);
    return m;
  }
  with_width(x.values.width(), [&]<class U>(U) {
    const auto v = x.values.as<U>();
    const auto& kernel = kernels::elementwise().of<U>();
    parallel_for(x.size(), mask_grain, [&](Index begin, Index end) {
      kernel.nonzero_bits(v.data() + begin, end - begin, bits + begin / 8);
    });
  });
  return m;
}

void check_same_shape(const Dense& x, const Mask& keep) {
  if (x.extents != keep.extents)
    fail_usage("a mask of shape {} does not fit a tensor of shape {}", to_string(keep.extents),
               to_string(x.extents));
  const Index n = size_of(x.extents);
  if (x.size() != n) fail_usage("shape {} does not fit {} values", to_string(x.extents), x.size());
  if (x.device() != keep.device())
    fail_usage("a mask on {} does not fit a tensor on {}", name_of(keep.device()),
               name_of(x.device()));
  if (static_cast<Index>(keep.bits.size()) != ceil_div(n, 8) ||
      (n % 8 && x.device() == Device::cpu && keep.bits[n / 8] >> n % 8))
    fail_usage("a mask of shape {} must have {} bytes with spare bits 0, got {} bytes",
               to_string(keep.extents), ceil_div(n, 8), keep.bits.size());
}

}  // namespace sten
