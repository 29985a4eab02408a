// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/common/device_walk.h"

#include <algorithm>

#include "libsten/compute/ops/common/device.h"

namespace sten {

using kernels::MapAxes, kernels::MapAxis, kernels::most_map_axes;

MapAxes map_axes_on_device(std::string_view op, const Shape& extents,
                           std::initializer_list<std::vector<Index>> steps) {
  std::vector<MapAxis> walked;
  for (std::size_t d = extents.size(); d-- > 0;) {
    if (extents[d] == 1) continue;
    MapAxis axis{extents[d], {}};
    bool continues = !walked.empty();
    int j = 0;
    for (const std::vector<Index>& s : steps) {
      axis.steps[j] = s[d];
      continues = continues && s[d] == walked.back().steps[j] * walked.back().extent;
      ++j;
    }
    if (continues)
      walked.back().extent *= axis.extent;
    else
      walked.push_back(axis);
  }
  if (walked.empty()) walked.push_back({1, {1, 1, 1}});
  if (std::ssize(walked) > most_map_axes)
    fail_unsupported("{} on a device supports up to {} axes, got {}", op, most_map_axes,
                     walked.size());
  MapAxes axes;
  axes.count = static_cast<int>(walked.size());
  std::ranges::copy(walked, axes.at);
  return axes;
}

std::vector<Index> broadcast_strides(const Shape& x, const Shape& shape) {
  const std::size_t missing = shape.size() - x.size();
  std::vector<Index> steps(shape.size());
  Index step = 1;
  for (std::size_t d = x.size(); d-- > 0;) {
    if (x[d] != 1) steps[missing + d] = step;
    step *= x[d];
  }
  return steps;
}

void strided_copy_on_device(const Shape& extents, const Values& x, const StridedView& from,
                            Values& y, const StridedView& to) {
  if (size_of(extents) == 0) return;
  const MapAxes axes = map_axes_on_device("a move of elements", extents, {from.steps, to.steps});
  const Index width = x.width();
  const std::byte* source = x.bytes().data() + from.first * width;
  std::byte* target = y.mutate_bytes() + to.first * width;
  const bool is_one_run = axes.count == 1 && axes.at[0].steps[0] == 1 && axes.at[0].steps[1] == 1;
  if (is_one_run)
    launch(&kernels::cuda::MemoryFunctions::copy, target, source,
           static_cast<std::size_t>(axes.at[0].extent * width));
  else
    launch(&kernels::MapFunctions::move, static_cast<int>(width), axes, source, target);
}

Dense sum_on_device(std::string_view op, const Dense& x, const Shape& extents,
                    const std::vector<bool>& over, Shape shape, double count) {
  const float* from = floats_on_device(op, x);
  if (std::ssize(extents) > kernels::most_sum_axes)
    fail_unsupported("{} on a device supports up to {} axes, got {}", op, kernels::most_sum_axes,
                     extents.size());
  kernels::SumAxes axes;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    axes.extents[d] = extents[d];
    axes.is_summed[d] = over[d];
  }
  axes.count = static_cast<int>(extents.size());
  return output_of(shape, &kernels::MapFunctions::sum, axes, from, count);
}

Dense sum_to_on_device(std::string_view op, const Dense& repeated, const Shape& shape) {
  const std::size_t rank = repeated.extents.size(), missing = rank - shape.size();
  std::vector<bool> over(rank);
  for (std::size_t d = 0; d < rank; ++d)
    over[d] = d < missing || (shape[d - missing] == 1 && repeated.extents[d] != 1);
  return sum_on_device(op, repeated, repeated.extents, over, shape);
}

}  // namespace sten
