// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/device_linear.h"

#include "libsten/compute/product/device_lists.h"

namespace sten {
namespace {

const DeviceProductImpl& found(const DeviceProductImpl* impl, const Tensor& w) {
  if (!impl) fail_unsupported("no product found for {} on a device", w.layout());
  return *impl;
}

}  // namespace

void device_linear(const Tensor& w, Index tokens, const float* x, const float* bias, float* y) {
  found(device_linear_impl(w, {tokens}), w).multiply(w, {{tokens, false, x, bias, y}});
}

void device_transposed_linear(const Tensor& w, Index tokens, const float* dy, float* dx,
                              bool adds) {
  found(device_transposed_impl(w, {tokens}), w)
      .multiply(w, {{tokens, false, dy, nullptr, dx}, adds});
}

void device_sparse_gemm(const Tensor& w, Index n, const float* b, float* c) {
  if (w.dtype() != DType::F32)
    fail_unsupported("products on a device support F32, got {}", name_of(w.dtype()));
  if (w.shape().size() != 2) fail_unsupported("products on a device support matrices, not batches");
  found(device_gemm_impl(w, {n}), w).multiply(w, {{n, true, b, nullptr, c}});
}

void device_transposed_gemm(const Tensor& w, Index n, const float* dc, float* db) {
  found(device_transposed_impl(w, {n}), w).multiply(w, {{n, true, dc, nullptr, db}});
}

Tensor device_sampled_linear(const Tensor& w, Index tokens, const float* dy, const float* x) {
  DeviceSamples sum(w);
  sum.add(tokens, dy, x);
  return w.with_values(std::move(sum).take());
}

Tensor device_sampled_gemm(const Tensor& w, Index count, Index n, const float* dc, const float* b) {
  if (count == 0) check_listed(w);
  DeviceSamples sum(w);
  for (Index i = 0; i < count; ++i)
    sum.add(n, dc + i * n * w.shape()[0], b + i * n * w.shape()[1], true);
  return w.with_values(std::move(sum).take());
}

void DeviceSamples::add(Index tokens, const float* dy, const float* x, bool by_features) {
  const bool is_first = !by_;
  if (is_first) {
    by_ = device_sampled_impl(w_, {tokens})->multiply;
    sums_ = Values::uninitialized(DType::F32, by_->size(w_), w_.device());
  }
  auto* const to = reinterpret_cast<float*>(sums_.mutate_bytes());
  by_->add(w_, {tokens, by_features, dy, x, to, !is_first});
}

Values DeviceSamples::take() && {
  if (!by_) return Values(DType::F32, w_.values()->size(), w_.device());
  return by_->values(w_, std::move(sums_));
}

}  // namespace sten
