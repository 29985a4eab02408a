// SPDX-License-Identifier: Apache-2.0
// Epilogue of a convolution, applied while the result is in cache.
#pragma once
#include "kernels/epilogue.h"

namespace sten {

// Computes y = max(y + residual, 0); NaN stays. The residual has the layout of y and must not
// overlap with it; nullptr: none.
struct ConvolutionEnd {
  bool relu = false;
  const float* residual = nullptr;

  // Applies to the output positions first to first + count, each of n channels.
  void apply(std::int64_t first, std::int64_t count, std::int64_t n, float* y) const {
    if (!relu && !residual) return;
    kernels::epilogue().finish(y + first * n, n, count, n, 1, nullptr,
                               residual ? residual + first * n : nullptr, n,
                               relu ? kernels::Activation::relu : kernels::Activation::none);
  }
};

}  // namespace sten
