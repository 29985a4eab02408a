// Checked calls of linear, for all implementations.
#pragma once
#include "libsten/compute/ops/products/product_output.h"

namespace sten {

// Extents of y[..., M] = x[..., K] * w[M, K]^T + b[M].
struct LinearExtents {
  Index tokens, in, out;  // N, K, M
  Shape y;
  bool has_bias;

  LinearExtents(const Tensor& x, const Tensor& w, const Tensor* b) : has_bias(b) {
    y = x.shape();
    const Shape weight = w.shape();
    if (weight.size() != 2) fail_usage("linear: w must be [out, in], got {}", to_string(weight));
    if (y.empty() || y.back() != weight[1])
      fail_usage("linear: x is {} but w has {} columns", to_string(y), weight[1]);
    if (b && b->shape() != Shape{weight[0]})
      fail_usage("linear: b is {} but w has {} rows", to_string(b->shape()), weight[0]);
    for (const Tensor* t : {&w, b})
      if (t && t->dtype() != x.dtype())
        fail_usage("linear: x is {} but {} is {}", name_of(x.dtype()), t == b ? "b" : "w",
                   name_of(t->dtype()));
    in = weight[1];
    out = weight[0];
    tokens = 1;
    for (std::size_t i = 0; i + 1 < y.size(); ++i) tokens *= y[i];
    y.back() = out;
  }
  // Error (usage) unless dy has the shape and dtype of y.
  void check_gradient(const Tensor& dy) const {
    if (dy.shape() != y)
      fail_usage("linear.grad: the gradient is {} but the output is {}", to_string(dy.shape()),
                 to_string(y));
  }
};

}  // namespace sten
