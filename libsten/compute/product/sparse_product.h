// SPDX-License-Identifier: Apache-2.0
// Products of a sparse matrix with dense ones, float32, on threads() threads.
#pragma once
#include "libsten/compute/product/panels.h"
#include "libsten/core/tensor/tensor.h"

namespace sten {

// The names of the built-in layouts with products.
std::vector<std::string> sparse_product_layouts();
// Whether a layout has products: built-in ones, and layouts of users that convert losslessly to
// csr.
bool has_sparse_product(std::string_view layout);

// Computes y[M, N] = A[M, K] * x[K, N] and applies the epilogue, for every activation layout;
// activations that stay in panels between products need no packing. Error (usage) unless A is F32
// of rank 2 in one of these layouts, and extents match. The packed A is cached with it.
void sparse_product(const Tensor& a, const Activations& x, const ActivationsOut& y,
                    const Epilogue& epilogue = {});

// A checked matrix for sparse_product(). After the first product, products of panels allocate
// nothing, once each thread has its scratch.
class SparseFactor {
 public:
  explicit SparseFactor(Tensor a);
  void multiply(const Activations& x, const ActivationsOut& y, const Epilogue& epilogue) const;

 private:
  Tensor a_;
};

// Computes y[K, N] = A[M, K]^T * x[M, N]. A^T is packed at the first such product and cached with
// A, as in packed_strips.h with height 1.
void sparse_transposed_product(const Tensor& a, const Activations& x, const ActivationsOut& y,
                               const Epilogue& epilogue = {});

// Computes C[m,n] = A[m,k] * B[k,n], row-major.
void sparse_gemm(const Tensor& a, Index n, const float* b, float* c);

// Computes Y[n,m] = X[n,k] * A[m,k]^T: a linear layer on n tokens.
void sparse_linear(const Tensor& a, Index n, const float* x, float* y);

// Computes C[k,n] = A[m,k]^T * B[m,n]: the gradient of B in sparse_gemm().
void sparse_transposed_gemm(const Tensor& a, Index n, const float* b, float* c);

// Computes dX[n,k] = dY[n,m] * A[m,k]: the gradient of X in sparse_linear().
void sparse_transposed_linear(const Tensor& a, Index n, const float* dy, float* dx);

// Unsupported, an Error (usage), unless there are products with A.
void check_factor(const Tensor& a);

// Packs A as its first product with this many tokens does, and drops the result, for measurements.
// A is as for products.
void repack(const Tensor& a, Index tokens);

}  // namespace sten
