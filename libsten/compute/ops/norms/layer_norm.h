// SPDX-License-Identifier: Apache-2.0
// Checked calls of layer norm, for all implementations.
#pragma once
#include "libsten/compute/ops/common/check.h"

namespace sten {

// Operands and attributes of layer-norm; or with first = 1 those of its gradient, whose input 0 is
// the gradient of the output.
struct LayerNormCall {
  const Dense &x, &gamma, &beta;
  Index n = 0;
  double eps;

  Index rows() const { return n == 0 ? 0 : x.size() / n; }

  LayerNormCall(const char* op, const Call& call, std::size_t first)
      : x(call.in[first].as<Dense>()),
        gamma(call.in[first + 1].as<Dense>()),
        beta(call.in[first + 2].as<Dense>()) {
    call.attributes.check(op, {"eps"});
    eps = call.attributes.number("eps", 1e-5);
    if (!(eps >= 0)) fail_usage("{}: eps must be >= 0, got {}", op, eps);
    if (x.extents.empty()) fail_usage("{}: x must have 1 or more axes, got []", op);
    n = x.extents.back();
    for (const auto& [name, p] : {std::pair("gamma", &gamma), std::pair("beta", &beta)}) {
      check_dtypes(op, "x", x.dtype(), name, p->dtype());
      if (p->extents != Shape{n})
        fail_usage("{}: x is {} but {} is {}", op, to_string(x.extents), name,
                   to_string(p->extents));
    }
    if (first == 1) check_alike(op, "the gradient", call.in[0].as<Dense>(), "x", x);
  }
};

}  // namespace sten
