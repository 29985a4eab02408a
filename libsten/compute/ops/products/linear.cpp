// SPDX-License-Identifier: Apache-2.0
// Linear layers with dense or masked x, and w in any layout that has products, in float32 or
// bfloat16 (without gradients of w); also in float64 if w is dense.
#include "libsten/compute/ops/products/linear.h"
#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/products/bias.h"
#include "libsten/compute/ops/products/product_output.h"
#include "libsten/compute/product/bf16_linear.h"
#include "libsten/compute/product/sampled_product.h"
#include "libsten/compute/product/sparse_product.h"
#include "libsten/core/tensor/low_floats.h"

namespace sten {
namespace {

// y for some tokens of x and a w with dense values, without bias.
template <class T>
void multiply_tokens(const LinearCall& l, Index token, Index count, const T* x, T* y) {
  const T* w = values_of<T>(l.w);
  if constexpr (std::same_as<T, float>)
    if (l.tokens == 1 && l.in > 0) return dense_vector_product(l.out, l.in, w, x, y);
  gemm(Transpose::b, count, l.out, l.in, x + token * l.in, w, y);
}

// A dense BF16 result of that shape, which f(std::uint16_t*) computes.
template <class F>
Tensor bf16_result(const OutFormat& format, Shape shape, F&& f) {
  if (!format.is_dense())
    fail_unsupported("linear: a BF16 result is written dense, expected {}", format.str());
  Values v = Values::uninitialized(DType::BF16, size_of(shape));
  f(v.mutate<std::uint16_t>().data());
  return Dense{std::move(shape), std::move(v)};
}

Tensor bf16_forward(const LinearCall& l, const OutFormat& format) {
  const Tensor bias = l.bias ? widened(*l.bias) : Tensor(Dense{});
  const float* b = l.bias ? values_of<float>(bias) : nullptr;
  return bf16_result(format, l.y, [&](std::uint16_t* y) {
    bf16_linear(l.w, l.tokens, values_of<std::uint16_t>(l.x), b, y);
  });
}

Outputs bf16_grad(const LinearCall& l, const Call& call) {
  Outputs grads(call.formats.size());
  for (std::size_t i = 1; i < grads.size(); ++i)
    if (call.wants(i)) fail_usage("linear.grad: weights must be F32 or F64, got BF16");
  if (call.wants(0))
    grads[0] = bf16_result(call.out(0), l.x.shape(), [&](std::uint16_t* dx) {
      bf16_transposed_linear(l.w, l.tokens, values_of<std::uint16_t>(call.in[0]), dx);
    });
  return grads;
}

Outputs linear_forward(const Call& call) {
  const LinearCall l(call);
  if (l.x.dtype() == DType::BF16) return {bf16_forward(l, call.out())};
  return with_real("linear", l.x.dtype(), [&]<class T>(T) -> Outputs {
    const T* from = values_of<T>(l.x);
    const T* b = l.bias ? l.bias->as<Dense>().values.as<T>().data() : nullptr;
    return {write_tokens<T>(call.out(), l.y, l.out, [&](Index token, Index count, T* to) {
      if (has_dense_values(l.w)) {
        multiply_tokens(l, token, count, from, to);
        if (b) add_bias(count, l.out, b, to);
        return;
      }
      if constexpr (std::same_as<T, float>)
        sparse_product(l.w, {ActivationLayout::tokens, l.in, count, from + token * l.in},
                       {ActivationLayout::tokens, l.out, count, to}, {.bias = b});
      else
        refuse_double(l.w);
    })};
  });
}

Outputs linear_grad(const Call& call) {
  const LinearCall l(call, 1);
  if (l.x.dtype() == DType::BF16) return bf16_grad(l, call);
  return with_real("linear.grad", l.x.dtype(), [&]<class T>(T) -> Outputs {
    const T* g = values_of<T>(call.in[0]);
    const T* from = values_of<T>(l.x);
    Outputs grads(call.formats.size());
    const auto back = [&](Index token, Index n, T* to) {
      const T* rows = g + token * l.out;
      if (has_dense_values(l.w))
        gemm(Transpose::none, n, l.in, l.out, rows, values_of<T>(l.w), to);
      else if constexpr (std::same_as<T, float>)
        sparse_transposed_linear(l.w, n, rows, to);
      else
        refuse_double(l.w);
    };
    if (call.wants(0) && call.out(0).is_same_pattern())
      grads[0] = gradient_at<T>(
          "linear.grad", l.x, call.out(0), [&]() -> Tensor { refuse_double(l.x); },
          [&](T* to) { back(0, l.tokens, to); });
    else if (call.wants(0))
      grads[0] = write_tokens<T>(call.out(0), l.x.shape(), l.in, back);
    if (call.wants(1) && call.out(1).is_same_pattern())
      grads[1] = gradient_at<T>(
          "linear.grad", l.w, call.out(1),
          [&]() -> Tensor {
            if constexpr (std::same_as<T, float>) return sampled_linear(l.w, l.tokens, g, from);
            refuse_double(l.w);
          },
          [&](T* to) { gemm(Transpose::a, l.out, l.in, l.tokens, g, from, to); });
    else if (call.wants(1))
      grads[1] =
          write_transposed_product<T>(call.out(1), l.out, l.in, l.tokens, g, from, l.w.shape());
    if (l.bias && call.wants(2)) grads[2] = bias_gradient(call.out(2), l.tokens, l.out, g);
    return grads;
  });
}

}  // namespace

void add_linear(Operators& all) {
  for (const bool has_bias : {false, true}) {
    const auto inputs = [&](std::vector<Name> in) {
      if (has_bias) in.push_back("dense");
      return in;
    };
    std::vector<std::string> layouts = sparse_product_layouts();
    layouts.push_back("dense");
    for (const Name layout : layouts)
      for (const Name x : {Name("dense"), Name("masked")}) {
        add_streamed(all, "linear", inputs({x, layout}), 1, linear_forward);
        for (const Name dy : {Name("dense"), Name("masked")})
          add_product_grad(all, "linear.grad", inputs({dy, x, layout}), {0, 1}, linear_grad);
      }
  }
}

}  // namespace sten
