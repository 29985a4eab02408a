// SPDX-License-Identifier: Apache-2.0
// Iteration over strided tensors on a device (kernels/block/map_functions.h).
#pragma once
#include <initializer_list>
#include <string_view>

#include "kernels/block/map_functions.h"
#include "libsten/compute/ops/common/strided_view.h"
#include "libsten/core/tensor/dense.h"

namespace sten {

// Axes of these extents with the strides of up to three operands; axes that are contiguous in all
// operands are merged. Unsupported if more remain than the device supports.
kernels::MapAxes map_axes_on_device(std::string_view op, const Shape& extents,
                                    std::initializer_list<std::vector<Index>> steps);
// Strides of a tensor of shape x that is broadcast to `shape`.
std::vector<Index> broadcast_strides(const Shape& x, const Shape& shape);

// strided_copy() for values on a device.
void strided_copy_on_device(const Shape& extents, const Values& x, const StridedView& from,
                            Values& y, const StridedView& to);

// Sums x over the axes of `extents` that are true in `over`, divided by count, as a tensor of
// `shape`. F32; Unsupported for others.
Dense sum_on_device(std::string_view op, const Dense& x, const Shape& extents,
                    const std::vector<bool>& over, Shape shape, double count = 1);
// Sums the gradient of a broadcast operand to the operand's shape.
Dense sum_to_on_device(std::string_view op, const Dense& repeated, const Shape& shape);

}  // namespace sten
