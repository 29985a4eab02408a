// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/common/broadcast.h"

#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/sum_axes.h"

namespace sten {
namespace {

// The extent aligned with axis d of `rank`.
Index extent_at(const Shape& x, std::size_t rank, std::size_t d) {
  const std::size_t missing = rank - x.size();
  return d < missing ? 1 : x[d - missing];
}

}  // namespace

Shape broadcast_shape(std::string_view op, const Shape& a, const Shape& b, std::string_view a_name,
                      std::string_view b_name) {
  const std::size_t rank = std::max(a.size(), b.size());
  Shape shape(rank);
  for (std::size_t d = 0; d < rank; ++d) {
    const Index ea = extent_at(a, rank, d), eb = extent_at(b, rank, d);
    if (ea != eb && ea != 1 && eb != 1)
      fail_usage("{}: {} is {} but {} is {}, which cannot be broadcast together", op, a_name,
                 to_string(a), b_name, to_string(b));
    shape[d] = ea == 1 ? eb : ea;
  }
  checked_size(shape);
  return shape;
}

Broadcast::Broadcast(const Shape& shape, const Shape& a, const Shape& b) {
  const std::size_t rank = shape.size();
  Index size_a = 1, size_b = 1;
  for (std::size_t d = rank; d-- > 0;) {
    const Index extent = shape[d], ea = extent_at(a, rank, d), eb = extent_at(b, rank, d);
    if (extent == 1) continue;
    const Axis axis{extent, ea == 1 ? 0 : size_a, eb == 1 ? 0 : size_b};
    size_a *= ea;
    size_b *= eb;
    // Merges with the next inner axis if both are contiguous in all operands.
    Axis* inner = axes_.empty() ? nullptr : &axes_.back();
    if (inner && axis.a == inner->a * inner->extent && axis.b == inner->b * inner->extent)
      inner->extent *= extent;
    else
      axes_.push_back(axis);
  }
  if (axes_.empty()) axes_.push_back({1, 1, 1});
  std::ranges::reverse(axes_);
}

template <class T>
Tensor sum_to(const OutFormat& format, const Dense& repeated, const Shape& shape) {
  const std::size_t rank = repeated.extents.size(), missing = rank - shape.size();
  std::vector<bool> over(rank);
  for (std::size_t d = 0; d < rank; ++d)
    over[d] = d < missing || (shape[d - missing] == 1 && repeated.extents[d] != 1);
  const std::vector<double> sums = sum_axes(repeated.values.as<T>().data(), repeated.extents, over);
  return write_each<T>(format, shape, [&](Index i) { return static_cast<T>(sums[i]); });
}
template Tensor sum_to<float>(const OutFormat&, const Dense&, const Shape&);
template Tensor sum_to<double>(const OutFormat&, const Dense&, const Shape&);

}  // namespace sten
