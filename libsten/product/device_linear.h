// Products of rows of tokens with a sparse matrix on a device, float32, in the process's one stream.
#pragma once
#include "libsten/tensor/tensor.h"

namespace sten {

// All pointers are to memory of w's device. w[out, in] is F32, csr or nmg: Unsupported for other
// layouts, for matrices that a tensor is seen as (dims), and for 2^31 values or more. Where it has
// its values is sorted at the first product that needs it, and kept with w and all tensors of its
// positions: 5 bytes for each value, and 8 for each 128 places of the matrix.

// y[tokens, out] = x[tokens, in] w^T + bias, which may be nullptr. Each sum is made in ascending
// order of columns, by fused multiply-adds from 0. Infinities of x stay in the rows that use them.
void device_linear(const Tensor& w, Index tokens, const float* x, const float* bias, float* y);

// dx[tokens, in] = dy[tokens, out] w, likewise.
void device_transposed_linear(const Tensor& w, Index tokens, const float* dy, float* dx);

// dw = dy^T x at w's positions, in w's layout; padding is 0. Sums have an order of their own.
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
  Values grad_;
  bool is_written_ = false;
};

}  // namespace sten
