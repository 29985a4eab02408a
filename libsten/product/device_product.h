// Products of a matrix with dense ones on a device, float32, on the stream of the process.
#pragma once
#include <optional>
#include <string_view>

#include "kernels/block/gemm_functions.h"
#include "libsten/tensor/tensor.h"

namespace sten {

// Computes C[m, n] = A[m, k] * B[k, n]; B and C are row-major on A's device. A is F32: dense by
// cuBLAS; csr by cuSPARSE if available; nmg of axis 0 by our kernel or densified, as
// device_algorithm() decides; other csr and nmg by device_sparse_gemm(). Unsupported for other A,
// and if a library rejects A. Factors stay float32. Data that a library prepares are cached with A.
void device_product(const Tensor& a, Index n, const float* b, float* c);

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
