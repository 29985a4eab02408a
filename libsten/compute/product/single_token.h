// SPDX-License-Identifier: Apache-2.0
// Epilogue of a product with a single token.
#pragma once
#include <algorithm>

#include "libsten/compute/product/interleaved.h"

namespace sten {

// Maximum number of results of one call that writes some of them.
inline constexpr Index most_token_values = 64;

// y[row + r] = activation(scale * sums[r * step] + bias + residual) for r below `count`. Interleaved
// y: `row` is even, and `count` is even except for the last results, whose call writes the padding,
// too.
void write_token(const float* sums, Index step, Index row, Index count, const ActivationsOut& y,
                 const Epilogue& epilogue);
void write_token(const float* sums, Index step, Index row, Index count, const InterleavedOut& y,
                 const InterleavedEpilogue& epilogue);
// The same for all results.
template <class Y>
void write_token(const float* sums, Index rows, const Y& y,
                 const typename EpilogueFor<Y>::Type& epilogue) {
  for (Index row = 0; row < rows; row += most_token_values)
    write_token(sums + row, 1, row, std::min(most_token_values, rows - row), y, epilogue);
}

}  // namespace sten
