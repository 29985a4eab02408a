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
