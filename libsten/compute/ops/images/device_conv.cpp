// SPDX-License-Identifier: Apache-2.0
// Convolutions on a device, by im2col for some output positions at a time.
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/images/device_columns.h"
#include "libsten/compute/ops/products/device_product_output.h"
#include "libsten/compute/product/device_linear.h"
#include "libsten/core/layout/as_matrix.h"

namespace sten {
namespace {

template <bool transposed>
constexpr const char* conv_name = transposed ? "conv-transpose" : "conv";
template <bool transposed>
constexpr const char* conv_grad_name = transposed ? "conv-transpose.grad" : "conv.grad";

// Weights in the order of columns, cached with w.
struct TransposedWeights {
  Values values;
};
const float* transposed_weights(const Convolution& c, const Tensor& w) {
  const float* from = elements_on_device("conv", w);
  if (is_transposed_alike(c)) return from;
  const auto cached = w.derived().get<TransposedWeights>([&] {
    Values to = Values::uninitialized(DType::F32, w.values()->size(), Device::cuda);
    transpose_weights(c, false, from, reinterpret_cast<float*>(to.mutate_bytes()));
    return TransposedWeights{std::move(to)};
  });
  return reinterpret_cast<const float*>(cached->values.bytes().data());
}

// y = x * w, without a bias.
void convolve_on_device(const Convolution& c, const float* x, const Tensor& w, float* y) {
  if (!has_dense_values(w)) {
    const Tensor& matrix = as_matrix(w);
    DeviceColumns columns(c, true);
    return columns.each(x, [&](Index first, Index rows, const float* from) {
      device_linear(matrix, rows, from, nullptr, y + first * c.out);
    });
  }
  const float* weight = transposed_weights(c, w);
  const Index k = c.group_in() * c.taps();
  DeviceColumns columns(c);
  columns.each(x, [&](Index first, Index rows, const float* from) {
    device_gemm(gemm_operands(rows, c.group_out(), k, {from, columns.length(), false, k},
                              {weight, k, true, c.group_out() * k},
                              {y + first * c.out, c.out, 0, c.group_out()}, c.groups));
  });
}

// The gradient of x.
void convolve_data_on_device(const Convolution& c, const float* dy, const Tensor& w, float* dx) {
  if (!has_dense_values(w)) {
    const Tensor& matrix = as_matrix(w);
    DeviceColumns columns(c, true);
    return columns.sum(dx, [&](Index first, Index rows, float* to) {
      device_transposed_linear(matrix, rows, dy + first * c.out, to);
    });
  }
  const float* weight = transposed_weights(c, w);
  const Index k = c.group_in() * c.taps();
  DeviceColumns columns(c);
  columns.sum(dx, [&](Index first, Index rows, float* to) {
    device_gemm(gemm_operands(
        rows, k, c.group_out(), {dy + first * c.out, c.out, false, c.group_out()},
        {weight, k, false, c.group_out() * k}, {to, columns.length(), 0, k}, c.groups));
  });
}

// The dense gradient of w[out, in / groups, kernel...]: the sum over segments in order.
void convolve_weights_on_device(const Convolution& c, const float* x, const float* dy, float* dw) {
  const Index k = c.group_in() * c.taps(), all = c.out * k;
  if (c.batch == 0)
    return clear_bytes(dw, Device::cuda, static_cast<std::size_t>(all) * sizeof(float));
  Values transposed_copy;
  float* to = dw;
  if (!is_transposed_alike(c)) {
    transposed_copy = Values::uninitialized(DType::F32, all, Device::cuda);
    to = reinterpret_cast<float*>(transposed_copy.mutate_bytes());
  }
  DeviceColumns columns(c);
  columns.each(x, [&](Index first, Index rows, const float* from) {
    device_gemm(gemm_operands(c.group_out(), k, rows,
                              {dy + first * c.out, c.out, true, c.group_out()},
                              {from, columns.length(), false, k},
                              {to, k, first > 0 ? 1.0F : 0.0F, c.group_out() * k}, c.groups));
  });
  if (to != dw) transpose_weights(c, true, to, dw);
}

// The same at the positions of a sparse w.
Tensor sampled_weights_on_device(const Convolution& c, const float* x, const float* dy,
                                 const Tensor& w) {
  DeviceSamples sum(as_matrix(w));
  DeviceColumns columns(c, true);
  columns.each(x, [&](Index first, Index rows, const float* from) {
    sum.add(rows, dy + first * c.out, from);
  });
  return w.with_values(std::move(sum).take());
}

void add_bias_on_device(const Shape& y, const float* b, float* to) {
  if (!b) return;
  launch(&kernels::MapFunctions::add_bias, size_of(y) / y.back(), y.back(), b, to);
}

// The bias of a call whose x is input `first`.
const float* bias_on_device(const ConvCall& g, const char* op, const Call& call) {
  return g.has_bias ? floats_on_device(op, call.in[2]) : nullptr;
}

template <bool transposed>
Outputs conv_on_device(const Call& call) {
  constexpr const char* op = conv_name<transposed>;
  const ConvCall g(op, transposed, call, 0);
  const Tensor& w = call.in[1];
  const float *x = floats_on_device(op, call.in[0]), *b = bias_on_device(g, op, call);
  Dense y = output_on_device(g.result);
  float* to = floats_of_output(y);
  if (transposed)
    convolve_data_on_device(g.c, x, w, to);
  else
    convolve_on_device(g.c, x, w, to);
  add_bias_on_device(g.result, b, to);
  return {std::move(y)};
}

template <bool transposed>
Outputs conv_grad_on_device(const Call& call) {
  constexpr const char* op = conv_grad_name<transposed>;
  const ConvCall g(op, transposed, call, 1);
  const Tensor &x = call.in[1], &w = call.in[2];
  const float *dy = floats_on_device(op, call.in[0]), *from = floats_on_device(op, x);
  Outputs grads(call.formats.size());
  if (call.wants(0)) {
    Dense dx = output_on_device(x.shape());
    if (transposed)
      convolve_on_device(g.c, dy, w, floats_of_output(dx));
    else
      convolve_data_on_device(g.c, dy, w, floats_of_output(dx));
    grads[0] = std::move(dx);
  }
  if (call.wants(1) && !has_dense_values(w) && !call.out(1).tmp.is(Dense::name)) {
    check_same_pattern(op, w, call.out(1));
    grads[1] = sampled_weights_on_device(g.c, from, dy, w);
  } else if (call.wants(1)) {
    grads[1] = gradient_on_device(op, w, call.out(1), [&](float* to) {
      if (transposed)
        convolve_weights_on_device(g.c, dy, from, to);
      else
        convolve_weights_on_device(g.c, from, dy, to);
    });
  }
  if (g.has_bias && call.wants(2)) {
    const Index channels = g.result.back();
    grads[2] = output_of({channels}, &kernels::MapFunctions::sum_rows, size_of(g.result) / channels,
                         channels, dy);
  }
  return grads;
}

Outputs conv_relu_on_device(const Call& call) {
  const ConvCall g("conv-relu", false, call, 0);
  const float* x = floats_on_device("conv-relu", call.in[0]);
  const float* b = bias_on_device(g, "conv-relu", call);
  const float* more = g.has_residual ? floats_on_device("conv-relu", call.in.back()) : nullptr;
  Dense y = output_on_device(g.result);
  float* to = floats_of_output(y);
  convolve_on_device(g.c, x, call.in[1], to);
  add_bias_on_device(g.result, b, to);
  launch(&kernels::WindowFunctions::add_relu, size_of(g.result), more, to);
  return {std::move(y)};
}

template <bool transposed>
void add_convolution_operators_on_device(Operators& all, std::vector<Name> in) {
  add_device_operator(all, conv_name<transposed>, in, conv_on_device<transposed>);
  in.insert(in.begin(), Name("dense"));
  add_device_product_grad(all, conv_grad_name<transposed>, in, {1},
                          conv_grad_on_device<transposed>);
}

}  // namespace

void add_device_convolutions(Operators& all) {
  const Name dense("dense"), masked("masked");
  for (const Name w : device_product_layouts)
    for (const std::size_t more : {0, 1, 2}) {
      std::vector<Name> in{dense, w};
      in.insert(in.end(), more, dense);
      add_device_operator(all, "conv-relu", in, conv_relu_on_device);
      if (more == 2) continue;
      add_convolution_operators_on_device<false>(all, in);
      if (w == dense || w == masked) add_convolution_operators_on_device<true>(all, in);
    }
}

}  // namespace sten
