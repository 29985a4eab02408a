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

// What the first product with A makes of it and keeps, made once more and dropped: to be measured.
// A is as for products.
void pack_anew(const Tensor& a);

}  // namespace sten
