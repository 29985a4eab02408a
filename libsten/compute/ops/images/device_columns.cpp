// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/images/device_columns.h"

#include <algorithm>

namespace sten {
namespace {

constexpr Index index_limit = Index{1} << 31;
// Limit of columns at a time: 64 MB.
constexpr Index most_column_elements = Index{1} << 24;

void check_column_indices(const Convolution& c) {
  bool fits = c.in * c.taps() < index_limit && c.pixels() * c.in < index_limit &&
              c.output_positions() < index_limit;
  for (std::size_t d = 0; d < 3; ++d) {
    const Index last = (c.result[d] - 1) * c.stride[d] + (c.kernel[d] - 1) * c.dilation[d];
    fits = fits && std::max(c.size[d] + c.before[d], last) < index_limit / 2;
  }
  if (!fits) fail_unsupported("conv on a device supports images of fewer than 2^31 elements");
}

bool is_own_columns(const Convolution& c) {
  const Convolution::Axes ones{1, 1, 1}, zeros{};
  return c.kernel == ones && c.stride == ones && c.before == zeros && c.result == c.size;
}

}  // namespace

DeviceColumns::DeviceColumns(const Convolution& c, bool by_channel)
    : c_(c), by_channel_(by_channel), is_x_(is_own_columns(c)) {
  if (is_x_ || c.batch == 0) return;
  check_column_indices(c);
  const Index rows = std::max<Index>(1, most_column_elements / length());
  const Index images =
      std::min(rows / c.output_positions(), (index_limit - 1) / (c.pixels() * c.in));
  images_ = std::clamp<Index>(images, 1, c.batch);
  output_positions_ = std::min(rows, c.output_positions());
  columns_ =
      Values::uninitialized(DType::F32, images_ * output_positions_ * length(), Device::cuda);
  memory_ = reinterpret_cast<float*>(columns_.mutate_bytes());
}

void DeviceColumns::make(const kernels::ColumnSegment& p, const float* x) const {
  launch(&kernels::WindowFunctions::make_columns, c_, p, x, memory_);
}

void DeviceColumns::sum_segment(const kernels::ColumnSegment& p, float* dx) const {
  launch(&kernels::WindowFunctions::sum_columns, c_, p, memory_, p.place > 0, dx);
}

void transpose_weights(const Convolution& c, bool back, const float* from, float* to) {
  if (c.out * c.group_in() * c.taps() >= index_limit)
    fail_unsupported("conv on a device supports weights of fewer than 2^31 elements");
  const Index a = back ? c.taps() : c.group_in(), b = back ? c.group_in() : c.taps();
  launch(&kernels::WindowFunctions::transpose, c.out, a, b, from, nullptr, to);
}

bool is_transposed_alike(const Convolution& c) { return c.taps() == 1 || c.group_in() == 1; }

}  // namespace sten
