// SPDX-License-Identifier: Apache-2.0
// Elementwise functions of float32 arrays. The result of an element depends neither on n nor on its
// index. An output can be an input; other arguments do not overlap. n can be 0.
//
// An ulp is the distance of neighbouring float32 values around the exact result. Error bounds hold
// for every table and for normal results. NaN gives NaN, and infinities give the limits.
#pragma once
#include <cstdint>

#include "kernels/isa.h"

namespace sten::kernels {

// m += toward1 (g - m);  v += toward2 (g^2 - v);  w -= decay w + rate m / (root sqrt(v) + eps)
struct AdamWStep {
  float decay, rate, root, eps, toward1, toward2;
};

struct FunctionsTable {
  // Error at most 4 ulp.
  void (*tanh)(const float* x, std::int64_t n, float* y);
  // 1 / (1 + e^-x), error at most 4 ulp.
  void (*sigmoid)(const float* x, std::int64_t n, float* y);
  // x P(X <= x) for a standard normal X, error at most 8 ulp, also for large negative x.
  void (*gelu)(const float* x, std::int64_t n, float* y);
  // x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) (Hendrycks and Gimpel 2016), error at most 8
  // ulp, also for large negative x.
  void (*gelu_tanh)(const float* x, std::int64_t n, float* y);
  // x / (1 + e^-x), error at most 5 ulp.
  void (*silu)(const float* x, std::int64_t n, float* y);
  // dx = dy times the derivative of gelu, whose error is at most 4e-7.
  void (*gelu_grad)(const float* dy, const float* x, std::int64_t n, float* dx);
  // Applies an AdamW step in float32. A multiplication and an addition can be fused.
  void (*adamw)(const AdamWStep& step, float* w, const float* g, float* m, float* v,
                std::int64_t n);
};

// The table for active_isa().
const FunctionsTable& functions();
// nullptr unless has_isa(isa).
const FunctionsTable* functions_for(Isa isa);

}  // namespace sten::kernels
