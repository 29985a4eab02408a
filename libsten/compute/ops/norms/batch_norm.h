// SPDX-License-Identifier: Apache-2.0
// Checked calls of batch norm, for all its implementations.
#pragma once
#include <string_view>
#include <vector>

#include "libsten/compute/ops/common/check.h"

namespace sten {

// Uses the batch's mean and variance, or in inference the given ones.
template <bool trains>
inline constexpr const char* batch_norm_name = trains ? "batch-norm-train" : "batch-norm";
template <bool trains>
inline constexpr const char* batch_norm_grad_name =
    trains ? "batch-norm-train.grad" : "batch-norm.grad";

inline void check_channels(std::string_view op, const Shape& x) {
  if (x.size() < 2) fail_usage("{}: x must be [..., channels], got {}", op, to_string(x));
}

// Operands and attributes of batch norm; or with first = 1 those of its gradient, whose input 0 is
// the gradient of the output.
struct BatchNormCall {
  const Dense& x;
  Index n, rows;
  double eps;
  bool relu;
  std::vector<const Dense*> given;  // gamma, beta; in inference also mean and variance

  BatchNormCall(std::string_view op, bool trains, const Call& call, std::size_t first)
      : x(call.in[first].as<Dense>()) {
    call.attributes.check(op, {"eps", "relu"});
    eps = call.attributes.number("eps", 1e-5);
    relu = call.attributes.integer("relu", 0) != 0;
    if (!(eps >= 0)) fail_usage("{}: eps must be >= 0, got {}", op, eps);
    check_channels(op, x.extents);
    n = x.extents.back();
    rows = n == 0 ? 0 : x.size() / n;
    constexpr const char* names[] = {"gamma", "beta", "mean", "variance"};
    for (std::size_t i = 0; i < (trains ? 2 : 4); ++i) {
      given.push_back(&call.in[first + 1 + i].as<Dense>());
      check_dtypes(op, "x", x.dtype(), names[i], given[i]->dtype());
      if (given[i]->extents != Shape{n})
        fail_usage("{}: x is {} but {} is {}", op, to_string(x.extents), names[i],
                   to_string(given[i]->extents));
    }
    if (first == 1) check_alike(op, "the gradient", call.in[0].as<Dense>(), "x", x);
  }
};

// For batch-moments: the factor from the biased variance to the requested one.
inline double variance_factor(const Call& call, const Dense& x) {
  call.attributes.check("batch-moments", {"sample"});
  check_channels("batch-moments", x.extents);
  if (call.attributes.integer("sample", 0) == 0) return 1;
  const Index n = x.extents.back(), rows = n == 0 ? 0 : x.size() / n;
  if (rows < 2)
    fail_usage("batch-moments: a sample variance needs 2 or more values per channel, x is {}",
               to_string(x.extents));
  return static_cast<double>(rows) / static_cast<double>(rows - 1);
}

}  // namespace sten
