// SPDX-License-Identifier: Apache-2.0
// The matrix view of a tensor for kernels.
#pragma once
#include <cstdint>

#include "kernels/device.h"

namespace sten::kernels {

// Element (b, r, c) is at batch_offset(b) + r * row_stride + c * col_stride.
struct BlockMatrix {
  static constexpr int most_dims = 6;
  int dims = 0;  // of the batch, the last one the fastest
  std::int64_t extent[most_dims] = {}, stride[most_dims] = {};
  std::int64_t batches = 1, rows = 0, cols = 0, row_stride = 0, col_stride = 1;

  STEN_HOST_DEVICE std::int64_t batch_offset(std::int64_t b) const {
    std::int64_t offset = 0;
    for (int d = dims - 1; d >= 0; --d) {
      offset += b % extent[d] * stride[d];
      b /= extent[d];
    }
    return offset;
  }
};

}  // namespace sten::kernels
