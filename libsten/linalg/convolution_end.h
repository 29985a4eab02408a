// What a convolution's result becomes while it is in the caches.
#pragma once
#include "kernels/epilogue.h"

namespace sten {

// y = max(y + residual, 0), where NaN stays. The residual lies as y does and does not overlap with it;
// nullptr for none.
struct ConvolutionEnd {
  bool relu = false;
  const float* residual = nullptr;

  // Of `count` places from the `first` on, of n channels each.
  void apply(std::int64_t first, std::int64_t count, std::int64_t n, float* y) const {
    if (!relu && !residual) return;
    kernels::epilogue().finish(y + first * n, n, count, n, 1, nullptr,
                               residual ? residual + first * n : nullptr, n,
                               relu ? kernels::Activation::relu : kernels::Activation::none);
  }
};

}  // namespace sten
