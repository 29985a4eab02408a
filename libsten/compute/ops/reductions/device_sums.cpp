// SPDX-License-Identifier: Apache-2.0
// Sums and means over axes on a device.
#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/device.h"
#include "libsten/compute/ops/common/device_walk.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/common/strided_copy.h"
#include "libsten/compute/ops/reductions/reduction.h"

namespace sten {
namespace {

template <bool is_mean>
Outputs sums_on_device(const Call& call) {
  constexpr const char* op = is_mean ? "mean" : "sum";
  const Dense& x = call.in[0].as<Dense>();
  Reduction r(op, call, x.extents);
  return {sum_on_device(op, x, x.extents, r.over, std::move(r.result), is_mean ? r.count : 1)};
}

// dy is broadcast along the summed axes.
template <bool is_mean>
Outputs sums_grad_on_device(const Call& call) {
  constexpr const char* op = is_mean ? "mean.grad" : "sum.grad";
  Outputs out(call.formats.size());
  if (!call.wants(0)) return out;
  Dense dy = call.in[0].as<Dense>();
  const Reduction r = Reduction::of_gradient(op, call);
  const Shape& shape = call.shapes[0];
  const float* from = floats_on_device(op, call.in[0]);
  if (is_mean)
    dy = output_of(dy.extents, &kernels::MapFunctions::map, kernels::UnaryFunction::scale,
                   kernels::UnaryParameters<float>{static_cast<float>(1 / r.count), 0}, dy.size(),
                   from);
  if (size_of(shape) == dy.size()) {
    out[0] = Dense{shape, dy.values};
    return out;
  }
  Dense dx = output_on_device(shape);
  strided_copy(shape, dy.values, {0, broadcast_strides(r.keepdim_shape, shape)}, dx.values,
               StridedView::of(shape));
  out[0] = std::move(dx);
  return out;
}

template <bool is_mean>
void add_sum_operators_on_device(Operators& all, Name op, Name grad) {
  all.add({op, {"dense", any::more}, {{}}, Device::cuda}, sums_on_device<is_mean>);
  all.add({grad, {"dense", any::more}, {{}, {"", any::more}}, Device::cuda},
          sums_grad_on_device<is_mean>);
}

}  // namespace

void add_device_sums(Operators& all) {
  add_sum_operators_on_device<false>(all, "sum", "sum.grad");
  add_sum_operators_on_device<true>(all, "mean", "mean.grad");
}

}  // namespace sten
