// Products of rows of tokens with a sparse matrix on a device, float32, in the process's one stream.
#pragma once
#include "kernels/block/gemm_functions.h"
#include "libsten/tensor/tensor.h"

namespace sten {

// All pointers are to memory of w's device. w[out, in] is F32, csr or nmg: Unsupported for other
// layouts, for matrices that a tensor is seen as (dims), and for 2^31 values or more.
//
// DeviceAlgorithm says which of three ways is taken. By lists: where w has its values is
// sorted at the first product that needs it, and kept with w and all tensors of its positions: 5 bytes
// for each value, and 8 for each 128 places of the matrix. Sums are made in ascending order of columns,
// by fused multiply-adds from 0, and infinities of x stay in the rows that use them. Turned: x and y are,
// for the products of n:m:g, whose sums have the order of the format, or, transposed, that of lists.
// Dense: w is, for as long as the product takes, and cuBLAS multiplies it; a sum with an infinity of x
// and a 0 of w is NaN.
enum class DeviceAlgorithm { lists, transposed_copy, dense };
enum class DeviceUse { linear, transposed, sampled };  // y of x, dx of dy, dw of both
// The fastest for so many tokens as measured (docs/notebook/gpu.md), if dense products have such
// factors; those of factors_of_products().
DeviceAlgorithm device_algorithm(const Tensor& w, Index tokens, DeviceUse use,
                                 kernels::Factors factors);
DeviceAlgorithm device_algorithm(const Tensor& w, Index tokens, DeviceUse use);

// y[tokens, out] = x[tokens, in] w^T + bias, which may be nullptr.
void device_linear(const Tensor& w, Index tokens, const float* x, const float* bias, float* y);

// dx[tokens, in] = dy[tokens, out] w, likewise; or the product is added to the existing values.
void device_transposed_linear(const Tensor& w, Index tokens, const float* dy, float* dx,
                              bool adds = false);

// dw = dy^T x at w's positions, in w's layout; padding is 0.
Tensor device_sampled_linear(const Tensor& w, Index tokens, const float* dy, const float* x);

// The same with a row for each feature: c[out, n] = w b[in, n], db[in, n] = w^T dc[out, n], and
// dw = dc b^T, of `count` products, dc[count, out, n] and b[count, in, n].
void device_sparse_gemm(const Tensor& w, Index n, const float* b, float* c);
void device_transposed_gemm(const Tensor& w, Index n, const float* dc, float* db);
Tensor device_sampled_gemm(const Tensor& w, Index count, Index n, const float* dc, const float* b);

// device_sampled_linear() of tokens that come in pieces, whose sums are added up in their order. w is
// kept.
class DeviceSamples {
 public:
  explicit DeviceSamples(const Tensor& w) : w_(w) {}
  void add(Index tokens, const float* dy, const float* x);
  // 0 of no piece.
  Values take() &&;

 private:
  const Tensor& w_;
  Values grad_;  // of w's values, or dense
  bool is_written_ = false, is_dense_ = false;
};

}  // namespace sten
