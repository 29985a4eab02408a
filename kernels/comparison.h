// SPDX-License-Identifier: Apache-2.0
// The formulas of the comparisons and logical operators (comparison.def), and of tests of one
// element.
#pragma once
#include <cstdint>
#include <limits>

#include "kernels/device.h"

namespace sten::kernels {

enum class Comparison : std::uint8_t {
#define COMPARISON(name, ...) name,
#include "kernels/comparison.def"
#undef COMPARISON
};

enum class ComparedElements : std::uint8_t { numbers, truths };

namespace comparison {

#define COMPARISON(name, op, onnx, operands, value_of)                      \
  struct name {                                                             \
    static constexpr ComparedElements elements{ComparedElements::operands}; \
    template <class T>                                                      \
    STEN_DEVICE static bool value(T a, T b) value_of                        \
  };
#include "kernels/comparison.def"
#undef COMPARISON

}  // namespace comparison

// Calls run(the formula of f).
template <class Run>
void with_formula(Comparison f, Run&& run) {
  switch (f) {
#define COMPARISON(name, ...) \
  case Comparison::name:      \
    return run(comparison::name{});
#include "kernels/comparison.def"
#undef COMPARISON
  }
}

enum class UnaryTest : std::uint8_t { is_nan, is_inf, is_plus_inf, is_minus_inf, logical_not };

namespace unary_test {

struct is_nan {
  template <class T>
  STEN_DEVICE static bool value(T x) {
    return x != x;
  }
};
struct is_plus_inf {
  template <class T>
  STEN_DEVICE static bool value(T x) {
    return x == std::numeric_limits<T>::infinity();
  }
};
struct is_minus_inf {
  template <class T>
  STEN_DEVICE static bool value(T x) {
    return x == -std::numeric_limits<T>::infinity();
  }
};
struct is_inf {
  template <class T>
  STEN_DEVICE static bool value(T x) {
    return is_plus_inf::value(x) || is_minus_inf::value(x);
  }
};
struct logical_not {
  STEN_DEVICE static bool value(std::uint8_t x) { return x == 0; }
};

}  // namespace unary_test

}  // namespace sten::kernels
