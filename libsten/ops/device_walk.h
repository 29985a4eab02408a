// Walks over tensors of a device (kernels/block/map_functions.h).
#pragma once
#include <initializer_list>
#include <string_view>

#include "kernels/block/map_functions.h"
#include "libsten/ops/strided_copy.h"

namespace sten {

// Along these extents, with the steps of up to three operands; axes that all of them walk alike are
// one. Unsupported where more are left than a device walks.
kernels::MapAxes map_axes_on_device(std::string_view op, const Shape& extents,
                                    std::initializer_list<std::vector<Index>> steps);
// Steps of a tensor of the shape x that is repeated to `shape`.
std::vector<Index> broadcast_strides(const Shape& x, const Shape& shape);

// strided_copy() of values that are on a device.
void strided_copy_on_device(const Shape& extents, const Values& x, const StridedView& from,
                            Values& y, const StridedView& to);

// x's sums over the axes of `extents` that are true in `over`, each divided by count, as a tensor of
// that shape. Of F32: Unsupported for others.
Dense sum_on_device(std::string_view op, const Dense& x, const Shape& extents,
                    const std::vector<bool>& over, Shape shape, double count = 1);
// The gradient of an operand of that shape from that of its repetitions, which are added up.
Dense sum_to_on_device(std::string_view op, const Dense& repeated, const Shape& shape);

}  // namespace sten
