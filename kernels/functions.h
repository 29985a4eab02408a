// Functions of arrays of float32, each element by itself: what it becomes depends neither on n nor
// on where it is. Outputs may be inputs, element for element; else nothing overlaps. n may be 0.
//
// An ulp is the distance of neighbouring float32 around the exact result. Bounds are those of every
// table, for results that are normal numbers; NaN stays NaN, and infinities give the limits.
#pragma once
#include <cstdint>

#include "kernels/isa.h"

namespace sten::kernels {

// m += toward1 (g - m);  v += toward2 (g^2 - v);  w -= decay w + rate m / (root sqrt(v) + eps)
struct AdamWStep {
  float decay, rate, root, eps, toward1, toward2;
};

struct FunctionsTable {
  // To 4 ulp.
  void (*tanh)(const float* x, std::int64_t n, float* y);
  // 1 / (1 + e^-x), to 4 ulp.
  void (*sigmoid)(const float* x, std::int64_t n, float* y);
  // x P(X <= x) for a standard normal X, to 8 ulp, for large negative x too.
  void (*gelu)(const float* x, std::int64_t n, float* y);
  // x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) (Hendrycks and Gimpel 2016), to 8 ulp, for
  // large negative x too.
  void (*gelu_tanh)(const float* x, std::int64_t n, float* y);
  // x / (1 + e^-x), to 5 ulp.
  void (*silu)(const float* x, std::int64_t n, float* y);
  // dy times the derivative of gelu, which is right to 4e-7.
  void (*gelu_grad)(const float* dy, const float* x, std::int64_t n, float* dx);
  // Operation by operation in float32; a sum may be taken together with a product.
  void (*adamw)(const AdamWStep& step, float* w, const float* g, float* m, float* v,
                std::int64_t n);
};

// The table of active_isa().
const FunctionsTable& functions();
// nullptr unless has_isa(isa).
const FunctionsTable* functions_for(Isa isa);

}  // namespace sten::kernels
