// SPDX-License-Identifier: Apache-2.0
// Products with a matrix on a device, float32, on the stream of the process.
#pragma once
#include "libsten/compute/product/device_product_impl.h"

namespace sten {

// The layouts of weights with products on a device.
inline constexpr const char* device_product_layouts[] = {"dense", "masked", "csr", "nmg"};

// All pointers are to memory of w's device. w[out, in] is F32 in one of device_product_layouts.
// Unsupported for other layouts, for dims, for 2^31 stored values or more, and for dense products
// without cuBLAS. The implementations (device_product_impl.h), of which the first that supports a
// product computes it:
//  cuBLAS, cuSPARSE  the library's product; data that it prepares are cached with w
//  dense copy        densifies w for the duration of the product, for cuBLAS. A sum with an infinity
//                    of x and a 0 of w is NaN
//  nmg               sums have the order of the layout
//  transposed copy   transposes x and y for the products of n:m:g, with sums as for nmg, or for the
//                    transposed product as for lists
//  lists             see device_lists.h

// Computes y[tokens, out] = x[tokens, in] w^T + bias, which may be nullptr.
void device_linear(const Tensor& w, Index tokens, const float* x, const float* bias, float* y);

// Computes dx[tokens, in] = dy[tokens, out] w; with `adds`, adds the product to dx.
void device_transposed_linear(const Tensor& w, Index tokens, const float* dy, float* dx,
                              bool adds = false);

// Returns dw = dy^T x at the positions of a sparse w, in w's layout; padding is 0.
Tensor device_sampled_linear(const Tensor& w, Index tokens, const float* dy, const float* x);

// The same for activations with one row per feature and a sparse w: c[out, n] = w b[in, n], db[in,
// n] = w^T dc[out, n], and dw = the sum of dc b^T over `count` products, dc[count, out, n] and
// b[count, in, n]. In c, factors stay float32 unless w is nmg of axis 1.
void device_sparse_gemm(const Tensor& w, Index n, const float* b, float* c);
void device_transposed_gemm(const Tensor& w, Index n, const float* dc, float* db);
Tensor device_sampled_gemm(const Tensor& w, Index count, Index n, const float* dc, const float* b);

// Sampled products of a sparse w, added in order. The first one decides on the implementation.
// Refers to w.
class DeviceSamples {
 public:
  explicit DeviceSamples(const Tensor& w) : w_(w) {}
  void add(Index tokens, const float* dy, const float* x, bool by_features = false);
  // The values of dw; 0 without products.
  Values take() &&;

 private:
  const Tensor& w_;
  const SampleFunctions* by_ = nullptr;
  Values sums_;
};

}  // namespace sten
