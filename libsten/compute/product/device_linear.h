// Products of activations with a sparse matrix on a device, float32, on the stream of the process.
#pragma once
#include "kernels/block/functions.h"
#include "kernels/block/gemm_functions.h"
#include "libsten/core/layout/nmg.h"
#include "libsten/core/tensor/tensor.h"

namespace sten {

// The layouts of weights with products on a device.
inline constexpr const char* device_product_layouts[] = {"dense", "masked", "csr", "nmg"};

// All pointers are to memory of w's device. w[out, in] is F32, csr or nmg: Unsupported for other
// layouts, for dims, and for 2^31 values or more.
//
// DeviceAlgorithm selects the algorithm:
//  lists            sorted lists of the values' positions, made at the first product and cached
//                   with w's positions: 5 bytes per value, and 8 per 128 elements of the matrix.
//                   Sums are in ascending order of columns, by fused multiply-adds from 0.
//                   Infinities of x affect only rows that use them
//  transposed_copy  transposes x and y for the products of n:m:g, whose sums have the order of the
//                   layout, or for the transposed product that of lists
//  dense            densifies w for the duration of the product, for cuBLAS. A sum with an infinity
//                   of x and a 0 of w is NaN
enum class DeviceAlgorithm { lists, transposed_copy, dense };
enum class DeviceUse { linear, transposed, sampled };  // y of x, dx of dy, dw of both
// The algorithm that was measured to be fastest for this number of tokens (docs/notebook/gpu.md),
// if dense products round to `factors`; default: factors_of_products().
DeviceAlgorithm device_algorithm(const Tensor& w, Index tokens, DeviceUse use,
                                 kernels::Factors factors);
DeviceAlgorithm device_algorithm(const Tensor& w, Index tokens, DeviceUse use);

// Computes C = A B for n:m:g of axis 0, with sums in the order of the layout. Unsupported for dims.
void device_nmg_product(const Nmg& a, const kernels::ProductOperands& o);

// Computes y[tokens, out] = x[tokens, in] w^T + bias, which may be nullptr.
void device_linear(const Tensor& w, Index tokens, const float* x, const float* bias, float* y);

// Computes dx[tokens, in] = dy[tokens, out] w; with `adds`, adds the product to dx.
void device_transposed_linear(const Tensor& w, Index tokens, const float* dy, float* dx,
                              bool adds = false);

// Returns dw = dy^T x at w's positions, in w's layout; padding is 0.
Tensor device_sampled_linear(const Tensor& w, Index tokens, const float* dy, const float* x);

// The same for activations with one row per feature: c[out, n] = w b[in, n], db[in, n] = w^T
// dc[out, n], and dw = the sum of dc b^T over `count` products, dc[count, out, n] and b[count, in,
// n].
void device_sparse_gemm(const Tensor& w, Index n, const float* b, float* c);
void device_transposed_gemm(const Tensor& w, Index n, const float* dc, float* db);
Tensor device_sampled_gemm(const Tensor& w, Index count, Index n, const float* dc, const float* b);

// device_sampled_linear() of tokens in segments, whose results are added in order. Refers to w.
class DeviceSamples {
 public:
  explicit DeviceSamples(const Tensor& w) : w_(w) {}
  void add(Index tokens, const float* dy, const float* x);
  // The values of dw; 0 without segments.
  Values take() &&;

 private:
  const Tensor& w_;
  Values grad_;  // the values of dw, or of a dense dw
  bool is_written_ = false, is_dense_ = false;
};

}  // namespace sten
