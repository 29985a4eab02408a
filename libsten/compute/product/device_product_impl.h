// SPDX-License-Identifier: Apache-2.0
// Implementations of products on a device, in lists whose order is the choice.
#pragma once
#include "libsten/compute/product/device_gemm.h"
#include "libsten/compute/product/product_impl.h"

namespace sten {

// What the choice depends on, apart from the weight and the libraries of the device.
struct DeviceProductCall {
  Index tokens;
  kernels::Factors factors = factors_of_products();  // of dense products
};

// y[tokens, out] = x[tokens, in] w^T + bias, or for the transposed product y[tokens, in] =
// x[tokens, out] w + bias; by_features, with one row per feature. `adds`: the result is added to y.
struct DeviceOperands : kernels::ListOperands {
  bool adds = false;
};
using DeviceProductImpl =
    ProductImpl<void(const Tensor& w, const DeviceOperands&), DeviceProductCall>;

// dw = dy^T x at w's positions, from sums in an order of the implementation.
struct SampleFunctions {
  Index (*size)(const Tensor& w);  // of the sums, in elements
  void (*add)(const Tensor& w, const kernels::SampleOperands&);
  Values (*values)(const Tensor& w, Values sums);  // those of dw
};
using DeviceSampledImpl = ProductImpl<const SampleFunctions, DeviceProductCall>;

// The implementations that the functions of device_linear.h take. nullptr if there is none.
const DeviceProductImpl* device_gemm_impl(const Tensor& a, const DeviceProductCall& call);
const DeviceProductImpl* device_linear_impl(const Tensor& w, const DeviceProductCall& call);
const DeviceProductImpl* device_transposed_impl(const Tensor& w, const DeviceProductCall& call);
const DeviceSampledImpl* device_sampled_impl(const Tensor& w, const DeviceProductCall& call);

}  // namespace sten
