// SPDX-License-Identifier: Apache-2.0
// Checked calls of pooling, for all implementations.
#pragma once
#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/images/windows.h"

namespace sten {

template <bool is_adaptive, bool is_max>
constexpr const char* pool_name =
    is_adaptive ? is_max ? "adaptive-max-pool" : "adaptive-average-pool"
    : is_max    ? "max-pool"
                : "average-pool";

// The windows of a pool; or with is_gradient those of its gradient, whose input 0 is the gradient of
// the output. Error (usage) if operands or attributes do not fit.
template <bool is_adaptive, bool is_max>
struct PoolCall {
  std::string op;
  Shape x;
  Windows w;
  bool counts_pads;

  explicit PoolCall(const Call& call, bool is_gradient = false)
      : op(std::string(pool_name<is_adaptive, is_max>) + (is_gradient ? ".grad" : "")),
        x(!is_gradient ? call.in[0].shape()
          : is_max     ? call.in[1].shape()
                       : input_shape(op, call, 0)),
        w(windows(op, x, call.attributes)),
        counts_pads(call.attributes.integer("count-pads", 0) != 0) {
    if (!is_gradient) return;
    check_gradient(op, call.in[0].as<Dense>(), w.shape());
    if (is_max) check_dtypes(op, "x", call.in[1].dtype(), "the gradient", call.in[0].dtype());
  }

 private:
  static Windows windows(std::string_view op, const Shape& x, const Attributes& a) {
    if (is_adaptive) return Windows::adaptive(op, x, a);
    return is_max ? Windows::sliding(op, x, a, {}) : Windows::sliding(op, x, a, {"count-pads"});
  }
};

}  // namespace sten
