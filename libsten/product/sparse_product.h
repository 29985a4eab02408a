// Products of a sparse matrix with dense ones, float32, on threads() threads.
#pragma once
#include "libsten/product/panels.h"
#include "libsten/tensor/tensor.h"

namespace sten {

// The built-in layouts that have a product, by name.
std::vector<std::string> sparse_product_layouts();
// Whether that layout has one: so has one that was added, with a lossless way to csr.
bool has_sparse_product(const std::string& layout);

// y[M, N] = A[M, K] * x[K, N] and what the epilogue makes of it, each as its form says: who keeps
// activations in panels from one product to the next pays for no packing. A is F32 of rank 2 in one
// of those layouts, and x and y are of its extents, else Error (usage). What a product makes of A
// is kept with it.
void sparse_product(const Tensor& a, const Activations& x, const ActivationsOut& y,
                    const Epilogue& epilogue = {});

// A matrix as sparse_product() takes it, checked once: but for the first one its products of panels
// allocate nothing, once each thread has the memory that it works in.
class SparseFactor {
 public:
  explicit SparseFactor(Tensor a);
  void multiply(const Activations& x, const ActivationsOut& y, const Epilogue& epilogue) const;

 private:
  Tensor a_;
};

// y[K, N] = A[M, K]^T * x[M, N]. A^T is packed at the first such product and kept with A: as
// packed_strips.h says, of height 1.
void sparse_transposed_product(const Tensor& a, const Activations& x, const ActivationsOut& y,
                               const Epilogue& epilogue = {});

// C[m,n] = A[m,k] * B[k,n], row-major.
void sparse_gemm(const Tensor& a, Index n, const float* b, float* c);

// Y[n,m] = X[n,k] * A[m,k]^T: a linear layer's forward pass over n tokens.
void sparse_linear(const Tensor& a, Index n, const float* x, float* y);

// C[k,n] = A[m,k]^T * B[m,n]: how a gradient goes back through sparse_gemm().
void sparse_transposed_gemm(const Tensor& a, Index n, const float* b, float* c);

// dX[n,k] = dY[n,m] * A[m,k]: back through sparse_linear().
void sparse_transposed_linear(const Tensor& a, Index n, const float* dy, float* dx);

// Unsupported, which is an Error (usage), unless there are products with A.
void check_factor(const Tensor& a);

// What the first product of A with so many tokens makes of it and keeps, made once more and
// dropped: to be measured. A is as for products.
void pack_anew(const Tensor& a, Index tokens);

}  // namespace sten
