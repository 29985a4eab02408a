// Products of a matrix with dense ones on a device, float32, in the process's one stream.
#pragma once
#include <optional>
#include <string_view>

#include "kernels/block/gemm_functions.h"
#include "libsten/tensor/tensor.h"

namespace sten {

// C[m, n] = A[m, k] * B[k, n], B and C row-major on A's device. A is an F32 matrix: dense by cuBLAS,
// csr by cuSPARSE where it is there, nmg of axis 0 by a kernel of ours or as dense, as device_algorithm() says
// of linear layers, and others of csr and nmg by device_sparse_gemm(). Factors stay float32. Unsupported
// for any other A, and where a library does not take A. What a library prepares is kept with A.
void device_product(const Tensor& a, Index n, const float* b, float* c);

// C[i] = alpha op(A[i]) op(B[i]) + beta C[i] of dense matrices on the device, as GemmOperands says, by
// cuBLAS: Unsupported where it is missing. x.factors are what the thread's RoundedProducts say.
void device_gemm(kernels::GemmOperands x);

// As recipes name them.
std::optional<kernels::Factors> factors_from(std::string_view name);

// What device_gemm() may round factors to in this thread, as long as this lasts. Without one they are
// float32.
class RoundedProducts {
 public:
  explicit RoundedProducts(kernels::Factors to);
  ~RoundedProducts();
  RoundedProducts(const RoundedProducts&) = delete;
  RoundedProducts& operator=(const RoundedProducts&) = delete;

 private:
  const kernels::Factors before_;
};
// Of this thread.
kernels::Factors factors_of_products();

}  // namespace sten
