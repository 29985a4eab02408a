// SPDX-License-Identifier: Apache-2.0
// The unary elementwise operators, of which kernels/unary.def has a row each.
#pragma once
#include <span>
#include <string_view>

#include "kernels/functions.h"
#include "kernels/unary.h"
#include "libsten/core/dispatch/operators.h"

namespace sten {

// An attribute and its default.
struct UnaryAttribute {
  std::string_view name{};
  double fallback = 0;
};

// All support F32 and F64. floats: also F16 and BF16, computed in F32. numbers: also integers,
// which wrap.
enum class UnaryElements : std::uint8_t { f32_f64, floats, numbers };

// The output has the shape and dtype of the input.
struct UnaryRow {
  kernels::UnaryFunction function;
  std::string_view name;
  // Name in ONNX, with the same attributes and defaults; empty if the translation differs.
  std::string_view onnx{};
  bool consumes = false;  // in ONNX, early versions have the attribute consumed_inputs
  SavedForBackward saves = SavedForBackward::inputs;
  bool is_zero_at_zero = true;  // f(0) = 0, for all attributes
  UnaryElements elements = UnaryElements::floats;
  bool is_step = false;  // the gradient is 0
  // Instead of the formulas, in F32 on the CPU.
  void (*kernels::FunctionsTable::*forward)(const float* x, std::int64_t n, float* y) = nullptr;
  void (*backward)(const float* dy, const float* saved, Index n, float* dx) = nullptr;
  UnaryAttribute a{}, b{};
  double low = -4, high = 4;  // range of the inputs of tests

  // The attributes. Error (usage) for unknown ones.
  template <class T>
  kernels::UnaryParameters<T> parameters(const Attributes& given) const {
    check(given);
    return {static_cast<T>(given.number(a.name, a.fallback)),
            static_cast<T>(given.number(b.name, b.fallback))};
  }

 private:
  void check(const Attributes& given) const;
};

std::span<const UnaryRow> unary_rows();
// nullptr if the operator has no row.
const UnaryRow* find_unary_row(std::string_view op);

}  // namespace sten
