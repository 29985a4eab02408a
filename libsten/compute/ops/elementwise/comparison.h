// SPDX-License-Identifier: Apache-2.0
// Comparisons and logical operators, of which kernels/comparison.def has a row each. Results are
// BOOL, without a gradient.
#pragma once
#include <span>
#include <string_view>

#include "kernels/comparison.h"
#include "libsten/core/dispatch/operators.h"

namespace sten {

struct ComparisonRow {
  kernels::Comparison function;
  std::string_view name, onnx;
  bool is_logical;  // operands are BOOL
};

std::span<const ComparisonRow> comparison_rows();

// The shape of the output of a call, for all implementations. Error (usage) if attributes or
// operands, which are of one dtype, do not fit.
Shape check_comparison(const ComparisonRow& row, const Call& call);

// The infinities that is-inf detects.
struct InfinityCall {
  bool negative, positive;

  explicit InfinityCall(const Call& call) {
    call.attributes.check("is-inf", {"detect-negative", "detect-positive"});
    negative = call.attributes.integer("detect-negative", 1) != 0;
    positive = call.attributes.integer("detect-positive", 1) != 0;
  }
};

}  // namespace sten
