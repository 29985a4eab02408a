// SPDX-License-Identifier: Apache-2.0
// Checked calls of RMS norm, for all implementations.
#pragma once
#include "libsten/compute/ops/common/check.h"

namespace sten {

// Operands and attributes of rms-norm; or with first = 1 those of its gradient, whose input 0 is
// the gradient of the output. Each run of n elements of x is normalized by itself.
struct RmsNormCall {
  const Dense &x, &weight;
  Index n = 0;
  double eps;
  bool has_offset;  // factors are 1 + weight

  Index rows() const { return n == 0 ? 0 : x.size() / n; }

  RmsNormCall(const char* op, const Call& call, std::size_t first)
      : x(call.in[first].as<Dense>()), weight(call.in[first + 1].as<Dense>()) {
    call.attributes.check(op, {"eps", "unit_offset"});
    eps = call.attributes.number("eps", 1e-6);
    if (!(eps >= 0)) fail_usage("{}: eps must be >= 0, got {}", op, eps);
    const Index offset = call.attributes.integer("unit_offset", 0);
    if (offset != 0 && offset != 1)
      fail_usage("{}: unit_offset must be 0 or 1, got {}", op, offset);
    has_offset = offset == 1;
    if (x.extents.empty()) fail_usage("{}: x must have 1 or more axes, got []", op);
    check_dtypes(op, "x", x.dtype(), "weight", weight.dtype());
    if (weight.extents.size() != 1)
      fail_usage("{}: weight must have one axis, got {}", op, to_string(weight.extents));
    n = weight.extents[0];
    const Index last = x.extents.back();
    if (n == 0 ? last != 0 : last % n != 0)
      fail_usage("{}: the last axis of x must be a multiple of weight's {} elements, got {}", op, n,
                 to_string(x.extents));
    if (first == 1) check_alike(op, "the gradient", call.in[0].as<Dense>(), "x", x);
  }
};

}  // namespace sten
