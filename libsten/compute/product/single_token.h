// SPDX-License-Identifier: Apache-2.0
// The end of a product with a single token, whose results an epilogue takes as one row.
#pragma once
#include "libsten/compute/product/interleaved.h"

namespace sten {

// Maximum number of results of one call.
inline constexpr Index most_token_values = 64;

// y[row + r] = activation(scale * sums[r * step] + bias + residual) for r below `count`; the last
// call for interleaved y also writes its padding. `row` is even.
void write_token(const float* sums, Index step, Index row, Index count, const ActivationsOut& y,
                 const Epilogue& epilogue);
void write_token(const float* sums, Index step, Index row, Index count, const InterleavedOut& y,
                 const InterleavedEpilogue& epilogue);

}  // namespace sten
