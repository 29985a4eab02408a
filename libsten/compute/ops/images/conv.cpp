// SPDX-License-Identifier: Apache-2.0
// Convolutions and transposed convolutions of channels-last activations, with gradients.
#include "libsten/compute/ops/images/conv.h"
#include "kernels/reference/convolution.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/products/bias.h"
#include "libsten/compute/ops/products/product_output.h"

namespace sten {
namespace {

// F64 is for checking and uses the formula.
void convolve_any(const Convolution& c, const float* x, const Tensor& w, const float* b, float* y) {
  w.derived()
      .get<PackedWeightCache>([] { return PackedWeightCache(); })
      ->convolve(c, x, values_of<float>(w), b, y);
}
void convolve_any(const Convolution& c, const double* x, const Tensor& w, const double* b,
                  double* y) {
  kernels::convolve_reference(c, x, values_of<double>(w), b, y);
}
void data_any(const Convolution& c, const float* dy, const float* w, float* dx) {
  convolve_data(c, dy, w, dx);
}
void data_any(const Convolution& c, const double* dy, const double* w, double* dx) {
  kernels::convolve_data_reference(c, dy, w, dx);
}
void weights_any(const Convolution& c, const float* x, const float* dy, float* dw) {
  convolve_weights(c, x, dy, dw);
}
void weights_any(const Convolution& c, const double* x, const double* dy, double* dw) {
  kernels::convolve_weights_reference(c, x, dy, dw);
}

template <class T>
const T* bias_of(const Call& call, std::size_t i) {
  return i < call.in.size() ? values_of<T>(call.in[i]) : nullptr;
}

template <bool transposed>
Outputs convolution(const Call& call) {
  const char* op = transposed ? "conv-transpose" : "conv";
  const ConvCall g(op, transposed, call, 0);
  return with_real(op, call.in[0].dtype(), [&]<class T>(T) -> Outputs {
    const T* x = values_of<T>(call.in[0]);
    const T* b = bias_of<T>(call, 2);
    return {write_whole<T>(call.out(), g.result, [&](T* to) {
      if (!transposed) return convolve_any(g.c, x, call.in[1], b, to);
      data_any(g.c, x, values_of<T>(call.in[1]), to);
      if (b) add_bias(size_of(g.result) / g.c.in, g.c.in, b, to);
    })};
  });
}

template <bool transposed>
Outputs convolution_grad(const Call& call) {
  const char* op = transposed ? "conv-transpose.grad" : "conv.grad";
  const ConvCall g(op, transposed, call, 1);
  const Dense& dy = call.in[0].as<Dense>();
  const Tensor &x = call.in[1], &w = call.in[2];
  return with_real(op, dy.dtype(), [&]<class T>(T) -> Outputs {
    const T *from = dy.values.as<T>().data(), *in = values_of<T>(x), *weight = values_of<T>(w);
    Outputs grads(call.formats.size());
    if (call.wants(0))
      grads[0] = write_whole<T>(call.out(0), x.shape(), [&](T* to) {
        if (transposed)
          convolve_any(g.c, from, w, static_cast<const T*>(nullptr), to);
        else
          data_any(g.c, from, weight, to);
      });
    const auto weights = [&](T* to) {
      if (transposed)
        weights_any(g.c, from, in, to);
      else
        weights_any(g.c, in, from, to);
    };
    if (call.wants(1) && call.out(1).is_same_pattern())
      grads[1] = gradient_at<T>(
          op, w, call.out(1), [&]() -> Tensor { fail_unsupported("{}: w is {}", op, w.layout()); },
          weights);
    else if (call.wants(1))
      grads[1] = write_whole<T>(call.out(1), w.shape(), weights);
    if (g.has_bias && call.wants(2))
      grads[2] =
          bias_gradient(call.out(2), size_of(g.result) / g.result.back(), g.result.back(), from);
    return grads;
  });
}

template <bool transposed>
void add_convolution(Operators& all, const char* op) {
  const std::string grad = std::string(op) + ".grad";
  all.declare(op, {SavedForBackward::inputs});
  for (const bool has_bias : {false, true})
    for (const char* layout : {"dense", "masked"}) {
      std::vector<Name> in{"dense", layout};
      if (has_bias) in.emplace_back("dense");
      add_streamed(all, op, in, 1, convolution<transposed>);
      in.insert(in.begin(), "dense");
      add_product_grad(all, grad, in, {1}, convolution_grad<transposed>);
    }
}

}  // namespace

void add_convolutions(Operators& all) {
  add_convolution<false>(all, "conv");
  add_convolution<true>(all, "conv-transpose");
}

}  // namespace sten
