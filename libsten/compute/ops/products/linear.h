// SPDX-License-Identifier: Apache-2.0
// Checked calls of linear, for all implementations.
#pragma once
#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/products/product_output.h"

namespace sten {

// Operands and extents of y[..., M] = x[..., K] * w[M, K]^T + b[M]; or with first = 1 those of its
// gradient, whose input 0 is the gradient of y. Error (usage) unless attributes, dtypes and extents
// fit.
struct LinearCall {
  const Tensor &x, &w;
  const Tensor* bias;  // or nullptr
  Shape y;
  Index tokens = 1, in, out;  // N, K, M

  explicit LinearCall(const Call& call, std::size_t first = 0)
      : x(call.in[first]),
        w(call.in[first + 1]),
        bias(call.in.size() > first + 2 ? &call.in[first + 2] : nullptr),
        y(x.shape()) {
    call.attributes.check(first ? "linear.grad" : "linear", {});
    const Shape weight = w.shape();
    if (weight.size() != 2) fail_usage("linear: w must be [out, in], got {}", to_string(weight));
    if (y.empty() || y.back() != weight[1])
      fail_usage("linear: x is {} but w has {} columns", to_string(y), weight[1]);
    if (bias && bias->shape() != Shape{weight[0]})
      fail_usage("linear: b is {} but w has {} rows", to_string(bias->shape()), weight[0]);
    for (const Tensor* t : {&w, bias})
      if (t && t->dtype() != x.dtype())
        fail_usage("linear: x is {} but {} is {}", name_of(x.dtype()), t == bias ? "b" : "w",
                   name_of(t->dtype()));
    in = weight[1];
    out = weight[0];
    for (std::size_t i = 0; i + 1 < y.size(); ++i) tokens *= y[i];
    y.back() = out;
    if (first == 0) return;
    const Tensor& dy = call.in[0];
    if (dy.shape() != y)
      fail_usage("linear.grad: the gradient is {} but the output is {}", to_string(dy.shape()),
                 to_string(y));
    check_dtypes("linear.grad", "x", x.dtype(), "the gradient", dy.dtype());
  }
};

}  // namespace sten
