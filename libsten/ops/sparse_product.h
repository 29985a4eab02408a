// Products of a sparse matrix with dense ones, row-major float32, on threads() threads.
#pragma once
#include "libsten/tensor/tensor.h"

namespace sten {

// Layouts that have a product of their own, by name.
std::vector<std::string> sparse_product_layouts();

// C[m,n] = A[m,k] * B[k,n]. A is F32 of rank 2 in one of these layouts, else Error (usage).
void sparse_gemm(const Tensor& a, Index n, const float* b, float* c);

// Y[n,m] = X[n,k] * A[m,k]^T: a linear layer's forward pass over n tokens.
void sparse_linear(const Tensor& a, Index n, const float* x, float* y);

// C[k,n] = A[m,k]^T * B[m,n]: how a gradient goes back through sparse_gemm(). A^T is packed at the
// first such product and kept with A: as csr_packed.h says, of height 1.
void sparse_transposed_gemm(const Tensor& a, Index n, const float* b, float* c);

// dX[n,k] = dY[n,m] * A[m,k]: back through sparse_linear().
void sparse_transposed_linear(const Tensor& a, Index n, const float* dy, float* dx);

// Error (usage) unless there are products with A.
void check_factor(const Tensor& a);

// What the first product with A makes of it and keeps, made once more and dropped: to be measured.
// A is as for products.
void pack_anew(const Tensor& a);

}  // namespace sten
