// SPDX-License-Identifier: Apache-2.0
// The binary elementwise operators, of which kernels/binary.def has a row each.
#pragma once
#include <span>
#include <string_view>

#include "kernels/binary.h"
#include "libsten/core/dispatch/operators.h"

namespace sten {

// For floats, computed in F32 or F64, and integers, computed in I64.
struct BinaryRow {
  kernels::BinaryFunction function;
  std::string_view name;
  std::string_view onnx{};      // name in ONNX; empty if the translation differs
  std::string_view variadic{};  // in ONNX, the operator of any number of inputs that folds this one
  bool consumes = false;        // in ONNX, early versions have the attribute consumed_inputs
  SavedForBackward saves = SavedForBackward::inputs;  // or nothing, for add and sub
  std::int64_t (*integers)(std::int64_t a, std::int64_t b) = nullptr;
};

std::span<const BinaryRow> binary_rows();

// Checks of calls and gradients, for all implementations: Error (usage) if operands, attributes and
// the gradient do not fit together. Return the shape of the output.
Shape check_binary(const BinaryRow& row, const Call& call);
// The gradient of add and sub, from shapes, and of the other operators, from saved operands.
void check_sum_grad(std::string_view op, const Call& call);
Shape check_binary_grad(const BinaryRow& row, std::string_view op, const Call& call);

}  // namespace sten
