// SPDX-License-Identifier: Apache-2.0
// Batch-normalization kernels: sums and affine maps per channel of contiguous float32 rows [rows,
// n], n channels. An output can be an input; other arguments do not overlap. Sums are accumulated
// in double, row by row.
#pragma once
#include <cstdint>

#include "kernels/isa.h"

namespace sten::kernels {

// y = a * x + b for each channel.
struct ChannelScale {
  const float *a, *b;  // [n]
  bool relu;           // max(y, 0)
};

struct ChannelsTable {
  // Adds x - shift to sums[n] and its square to squares[n].
  void (*add_moments)(const float* x, std::int64_t rows, std::int64_t n, const float* shift,
                      double* sums, double* squares);
  void (*scale)(const float* x, std::int64_t rows, std::int64_t n, const ChannelScale& s, float* y);
  // With g = dy, or 0 where the forward ReLU gave 0: adds g to sums[n] and g * (x - mean) to
  // products[n].
  void (*add_gradients)(const float* dy, const float* x, std::int64_t rows, std::int64_t n,
                        const ChannelScale& s, const float* mean, double* sums, double* products);
  // dx = a * g + by * x + more.
  void (*scale_grad)(const float* dy, const float* x, std::int64_t rows, std::int64_t n,
                     const ChannelScale& s, const float* by, const float* more, float* dx);
};

// The table for active_isa().
const ChannelsTable& channels();
// nullptr unless has_isa(isa).
const ChannelsTable* channels_for(Isa isa);

}  // namespace sten::kernels
