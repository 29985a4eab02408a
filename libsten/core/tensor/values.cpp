// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/tensor/values.h"

#include <limits>

#include "libsten/core/base/error.h"

namespace sten {
namespace {

std::size_t byte_count(DType dtype, Index n) {
  const int width = width_of(dtype);
  if (width == 0) fail("{} elements are smaller than a byte", name_of(dtype));
  if (n > std::numeric_limits<Index>::max() / width)
    fail("{} elements of {} do not fit in memory", n, name_of(dtype));
  return static_cast<std::size_t>(n) * width;
}

}  // namespace

Values::Values(DType dtype, Index n, Device device)
    : dtype_(dtype), bytes_(byte_count(dtype, n), device) {}

Values Values::uninitialized(DType dtype, Index n, Device device) {
  return {dtype, Array<std::byte>::uninitialized(byte_count(dtype, n), device)};
}

Values::Values(DType dtype, Array<std::byte> bytes) : dtype_(dtype), bytes_(std::move(bytes)) {
  assert(width_of(dtype) && bytes_.size() % width_of(dtype) == 0);
}

void Values::fail_width(std::size_t expected) const {
  fail_usage("expected elements of {} bytes, got {} ({} bytes)", expected, name_of(dtype_),
             width());
}

void Values::fail_dtype(DType expected) const {
  fail_usage("expected {} elements, got {}", name_of(expected), name_of(dtype_));
}

}  // namespace sten
