// SPDX-License-Identifier: Apache-2.0
// Products of dense matrices on a device by cuBLAS, and the rounding of their factors.
#pragma once
#include <optional>
#include <string_view>

#include "kernels/block/gemm_functions.h"

namespace sten {

// Computes C[i] = alpha op(A[i]) op(B[i]) + beta C[i] for dense matrices on the device, described
// by GemmOperands, by cuBLAS. Unsupported without cuBLAS. Replaces x.factors by
// factors_of_products().
void device_gemm(kernels::GemmOperands x);

// A factor with row stride ld, stored transposed or not; matrices of a batch are `step` apart.
struct GemmFactor {
  const float* x;
  std::int64_t ld;
  bool is_transposed = false;
  std::int64_t step = 0;
};
// The result, which is added to beta times its former values.
struct GemmResult {
  float* x;
  std::int64_t ld;
  float beta = 0;
  std::int64_t step = 0;
};
inline kernels::GemmOperands gemm_operands(std::int64_t m, std::int64_t n, std::int64_t k,
                                           const GemmFactor& a, const GemmFactor& b,
                                           const GemmResult& c, std::int64_t batch = 1) {
  return {m,     n,    k,      batch,           a.x, a.ld, a.step, a.is_transposed,
          b.x,   b.ld, b.step, b.is_transposed, c.x, c.ld, c.step, 1,
          c.beta};
}

// The factors by their name in recipes.
std::optional<kernels::Factors> factors_from(std::string_view name);

// While an object lives, device_gemm() may round factors on this thread to `to`. By default they
// stay float32.
class RoundedProducts {
 public:
  explicit RoundedProducts(kernels::Factors to);
  ~RoundedProducts();
  RoundedProducts(const RoundedProducts&) = delete;
  RoundedProducts& operator=(const RoundedProducts&) = delete;

 private:
  const kernels::Factors before_;
};
kernels::Factors factors_of_products();

}  // namespace sten
