// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/device_product_impl.h"

#include "libsten/compute/product/device_lists.h"
#include "libsten/core/base/cuda.h"
#include "libsten/core/layout/compressed.h"
#include "libsten/core/layout/masked.h"
#include "libsten/core/layout/nmg.h"
#include "libsten/core/layout/nmg_patterns.h"
#include "libsten/core/tensor/device_view.h"

namespace sten {
namespace {

using kernels::Factors;

const float* floats_of(const Values& v) { return reinterpret_cast<const float*>(v.bytes().data()); }
float* floats_in(Values& v) { return reinterpret_cast<float*>(v.mutate_bytes()); }

// ---- implementations

// By the values of a dense or masked w, or by those of a copy.
template <bool is_transposed>
void by_cublas(const Tensor& w, const DeviceOperands& x) {
  const Values all = has_dense_values(w) ? *w.values() : w.to_dense().values;
  const float* values = floats_of(all);
  const Index in = w.shape()[1], n = x.tokens;
  const Index from = w.shape()[is_transposed ? 0 : 1], to = w.shape()[is_transposed ? 1 : 0];
  const float beta = x.adds ? 1.0F : 0.0F;
  if (x.by_features)
    return device_gemm(
        gemm_operands(to, n, from, {values, in, is_transposed}, {x.x, n}, {x.y, n, beta}));
  device_gemm(
      gemm_operands(n, to, from, {x.x, from}, {values, in, !is_transposed}, {x.y, to, beta}));
  if (x.bias) launch(&kernels::MapFunctions::add_bias, n, to, x.bias, x.y);
}
// With factors in float32.
template <auto multiply>
void exactly(const Tensor& w, const DeviceOperands& x) {
  const RoundedProducts not_rounded(Factors::float32);
  multiply(w, x);
}

// The library's prepared data are made at the first product of a tensor.
void by_cusparse(const Tensor& w, const DeviceOperands& x) {
  using kernels::PreparedProduct;
  const Csr& a = w.as<Csr>();
  if (a.dims.given())
    fail_unsupported("csr products on a device support matrices without dims= only");
  const Index out = w.shape()[0], in = w.shape()[1];
  const auto& cached = *w.derived().get<std::shared_ptr<PreparedProduct>>([&] {
    return std::shared_ptr<PreparedProduct>(launch(&kernels::ProductFunctions::csr, out, in,
                                                   a.values.size(), a.ptr.data(), a.index.data(),
                                                   floats_of(a.values)));
  });
  if (!cached) fail_unsupported("cuSPARSE does not support this matrix");
  on_cuda([&](const auto&, kernels::Stream stream) {
    cached->run({out, in, x.tokens, x.x, x.tokens, x.y, x.tokens}, stream);
  });
}

void by_nmg(const Tensor& w, const DeviceOperands& x) {
  const Nmg& a = w.as<Nmg>();
  if (a.dims.given())
    fail_unsupported("n:m:g products on a device support matrices without dims= only");
  const DeviceNmgPatterns patterns(a.n, a.m, w.device());
  const Index n = x.tokens;
  launch(&kernels::ProductFunctions::nmg, patterns.format(a.g), floats_of(a.values),
         a.index.bytes().data(),
         kernels::ProductOperands{w.shape()[0], w.shape()[1], n, x.x, n, x.y, n});
}
// y[in, n] = w^T x[out, n]. False, without effect, if the device does not support it.
bool by_nmg_transposed(const Tensor& w, const DeviceOperands& x) {
  const Nmg& a = w.as<Nmg>();
  const DeviceNmgPatterns patterns(a.n, a.m, w.device());
  const Index n = x.tokens;
  return launch(&kernels::ProductFunctions::nmg_transposed, patterns.format(a.g),
                floats_of(a.values), a.index.bytes().data(),
                kernels::ProductOperands{w.shape()[1], w.shape()[0], n, x.x, n, x.y, n});
}

// Calls multiply(operands by features) with copies of x and y, unless x is by features; false if
// multiply() gives false.
template <class F>
bool with_transposed_copies(Index from, Index to, Device device, const DeviceOperands& x,
                            F&& multiply) {
  if (x.by_features) return multiply(x);
  Values b = Values::uninitialized(DType::F32, x.tokens * from, device);
  launch(&kernels::WindowFunctions::transpose, 1, x.tokens, from, x.x, nullptr, floats_in(b));
  Values c = Values::uninitialized(DType::F32, to * x.tokens, device);
  if (!multiply({{x.tokens, true, floats_of(b), nullptr, floats_in(c)}})) return false;
  launch(&kernels::WindowFunctions::transpose, 1, to, x.tokens, floats_of(c), x.bias, x.y);
  return true;
}

template <bool is_transposed>
void by_lists(const Tensor& w, const DeviceOperands& x) {
  list_product(w, is_transposed, x);
}
void by_transposed_copy(const Tensor& w, const DeviceOperands& x) {
  with_transposed_copies(w.shape()[1], w.shape()[0], w.device(), x, [&](const DeviceOperands& o) {
    by_nmg(w, o);
    return true;
  });
}
// Lists are the fallback for formats that are too large for the device's shared memory.
void by_transposed_copy_of_columns(const Tensor& w, const DeviceOperands& x) {
  if (!with_transposed_copies(w.shape()[0], w.shape()[1], w.device(), x,
                              [&](const DeviceOperands& o) { return by_nmg_transposed(w, o); }))
    by_lists<true>(w, x);
}

// Adds dx[tokens, in] by a temporary product.
template <auto multiply>
void added(const Tensor& w, const DeviceOperands& x) {
  if (!x.adds) return multiply(w, x);
  Values more = Values::uninitialized(DType::F32, x.tokens * w.shape()[1], w.device());
  multiply(w, {{x.tokens, x.by_features, x.x, x.bias, floats_in(more)}});
  const kernels::AddedElements sum{x.y, floats_of(more), more.size()};
  launch(&kernels::StepFunctions::add, std::span(&sum, 1));
}

constexpr SampleFunctions dense_samples{
    [](const Tensor& w) { return size_of(w.shape()); },
    [](const Tensor& w, const kernels::SampleOperands& x) {
      const Index out = w.shape()[0], in = w.shape()[1], n = x.tokens;
      device_gemm(gemm_operands(out, in, n, {x.dy, x.by_features ? n : out, !x.by_features},
                                {x.x, x.by_features ? n : in, x.by_features},
                                {x.grad, in, x.adds ? 1.0F : 0.0F}));
    },
    [](const Tensor& w, Values dense) {
      const Nmg& a = w.as<Nmg>();
      Values to = Values::uninitialized(DType::F32, a.values.size(), w.device());
      const DeviceNmgPatterns patterns(a.n, a.m, w.device());
      launch(&kernels::NmgFunctions::gather, patterns.format(a.g), *block_matrix(a.geometry().view),
             dense.bytes().data(), dense.width(), a.index.bytes().data(), to.mutate_bytes());
      return to;
    }};
constexpr SampleFunctions listed_samples{[](const Tensor& w) { return w.values()->size(); },
                                         list_samples,
                                         [](const Tensor&, Values sums) { return sums; }};

// ---- what they support

enum class Form { linear, transposed, sampled };

bool any_product(const Tensor&, const DeviceProductCall&) { return true; }
bool is_dense(const Tensor& w, const DeviceProductCall&) { return w.is<Dense>(); }
bool is_stored_densely(const Tensor& w, const DeviceProductCall&) { return has_dense_values(w); }
bool has_cusparse(const Tensor& w, const DeviceProductCall&) {
  return w.is<Csr>() && cuda().products.csr_library();
}
bool is_listed(const Tensor& w, const DeviceProductCall&) { return w.is<Csr>() || w.is<Nmg>(); }
template <int axis>
bool is_nmg(const Tensor& w, const DeviceProductCall&) {
  return w.is<Nmg>() && w.as<Nmg>().axis == axis;
}

// The choice for n:m:g as measured on an H100 at 1,024 and 4,096 tokens (docs/notebook/gpu.md).
bool is_large_nmg(const Tensor& w, const DeviceProductCall& call) {
  return call.tokens >= 128 && w.is<Nmg>() && w.dtype() == DType::F32 && w.shape().size() == 2 &&
         !w.as<Nmg>().dims.given() && cuda().products.dense_library();
}
template <Form form>
bool has_transposed_copy(const Tensor& w, const DeviceProductCall& call) {
  if (!is_large_nmg(w, call) || w.as<Nmg>().axis != 0) return false;
  return form == Form::linear || (form == Form::transposed && w.as<Nmg>().n == 1);
}
// Below some m / n. A product that may round runs on tensor cores, in an eighth of the time.
template <Form form>
bool is_fastest_dense(const Tensor& w, const DeviceProductCall& call) {
  if (!is_large_nmg(w, call)) return false;
  const Index m_per_n = call.factors != Factors::float32     ? 64
                        : has_transposed_copy<form>(w, call) ? 6
                        : form == Form::sampled              ? 32
                                                             : 16;
  return m_per_n * w.as<Nmg>().n > w.as<Nmg>().m;
}
template <int axis>
bool is_fastest_dense_gemm(const Tensor& w, const DeviceProductCall& call) {
  const Factors factors = axis == 0 ? Factors::float32 : call.factors;
  return is_nmg<axis>(w, call) && is_fastest_dense<Form::linear>(w, {call.tokens, factors});
}

// ---- the choice

constexpr DeviceProductImpl device_gemm_impls[] = {
    {"cuBLAS", is_dense, exactly<by_cublas<false>>},
    {"cuSPARSE", has_cusparse, by_cusparse},
    {"dense copy", is_fastest_dense_gemm<0>, exactly<by_cublas<false>>},
    {"nmg", is_nmg<0>, by_nmg},
    {"dense copy", is_fastest_dense_gemm<1>, by_cublas<false>},
    {"lists", is_listed, by_lists<false>},
};
constexpr DeviceProductImpl device_linear_impls[] = {
    {"cuBLAS", is_stored_densely, by_cublas<false>},
    {"dense copy", is_fastest_dense<Form::linear>, by_cublas<false>},
    {"transposed copy", has_transposed_copy<Form::linear>, by_transposed_copy},
    {"lists", any_product, by_lists<false>},
};
constexpr DeviceProductImpl device_transposed_impls[] = {
    {"cuBLAS", is_stored_densely, by_cublas<true>},
    {"dense copy", is_fastest_dense<Form::transposed>, by_cublas<true>},
    {"transposed copy", has_transposed_copy<Form::transposed>,
     added<by_transposed_copy_of_columns>},
    {"lists", any_product, added<by_lists<true>>},
};
constexpr DeviceSampledImpl device_sampled_impls[] = {
    {"dense copy", is_fastest_dense<Form::sampled>, &dense_samples},
    {"lists", any_product, &listed_samples},
};

}  // namespace

const DeviceProductImpl* device_gemm_impl(const Tensor& a, const DeviceProductCall& call) {
  return first_supporting(device_gemm_impls, a, call);
}
const DeviceProductImpl* device_linear_impl(const Tensor& w, const DeviceProductCall& call) {
  return first_supporting(device_linear_impls, w, call);
}
const DeviceProductImpl* device_transposed_impl(const Tensor& w, const DeviceProductCall& call) {
  return first_supporting(device_transposed_impls, w, call);
}
const DeviceSampledImpl* device_sampled_impl(const Tensor& w, const DeviceProductCall& call) {
  return first_supporting(device_sampled_impls, w, call);
}

}  // namespace sten
