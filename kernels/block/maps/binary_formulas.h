// Binary operators on float32, their gradients, and tests: the formulas of libsten/compute/ops/elementwise/binary.cpp
// and compare.cpp.
#pragma once
#include <cmath>
#include <limits>

#include "kernels/block/map_functions.h"

namespace sten::kernels {

namespace formulas {

// Squares and their derivatives are the most frequent powers and need no call.
STEN_DEVICE inline float power(float a, float b) {
  return b == 2 ? a * a : b == 1 ? a : std::pow(a, b);
}
STEN_DEVICE inline float if_less(float dy, float a, float b) {
  return a == b ? dy / 2 : a > b ? 0.0f : dy;
}

struct Add {
  STEN_DEVICE static float value(float a, float b) { return a + b; }
};
struct Sub {
  STEN_DEVICE static float value(float a, float b) { return a - b; }
};
struct Mul {
  STEN_DEVICE static float value(float a, float b) { return a * b; }
  STEN_DEVICE static float grad_a(float dy, float, float b) { return dy * b; }
  STEN_DEVICE static float grad_b(float dy, float a, float) { return dy * a; }
};
struct Div {
  STEN_DEVICE static float value(float a, float b) { return a / b; }
  STEN_DEVICE static float grad_a(float dy, float, float b) { return dy / b; }
  STEN_DEVICE static float grad_b(float dy, float a, float b) { return -dy * (a / b / b); }
};
struct Pow {
  STEN_DEVICE static float value(float a, float b) { return power(a, b); }
  STEN_DEVICE static float grad_a(float dy, float a, float b) {
    return b == 0 ? b : dy * b * power(a, b - 1);
  }
  STEN_DEVICE static float grad_b(float dy, float a, float b) {
    return a == 0 && b >= 0 ? a : dy * power(a, b) * std::log(a);
  }
};
struct PRelu {
  STEN_DEVICE static float value(float a, float b) { return a < 0 ? a * b : a; }
  STEN_DEVICE static float grad_a(float dy, float a, float b) { return a > 0 ? dy : dy * b; }
  STEN_DEVICE static float grad_b(float dy, float a, float) { return a < 0 ? dy * a : 0.0f; }
};
struct Min {
  STEN_DEVICE static float value(float a, float b) { return a < b || a != a ? a : b; }
  STEN_DEVICE static float grad_a(float dy, float a, float b) { return if_less(dy, a, b); }
  STEN_DEVICE static float grad_b(float dy, float a, float b) { return if_less(dy, b, a); }
};
struct Max {
  STEN_DEVICE static float value(float a, float b) { return a > b || a != a ? a : b; }
  STEN_DEVICE static float grad_a(float dy, float a, float b) { return if_less(dy, b, a); }
  STEN_DEVICE static float grad_b(float dy, float a, float b) { return if_less(dy, a, b); }
};

struct Equal {
  template <class T>
  STEN_DEVICE static bool value(T a, T b) {
    return a == b;
  }
};
struct Less {
  template <class T>
  STEN_DEVICE static bool value(T a, T b) {
    return a < b;
  }
};
struct LessOrEqual {
  template <class T>
  STEN_DEVICE static bool value(T a, T b) {
    return a <= b;
  }
};
struct IsNan {
  STEN_DEVICE static bool value(float x) { return x != x; }
};
struct IsPlusInf {
  STEN_DEVICE static bool value(float x) { return x == std::numeric_limits<float>::infinity(); }
};
struct IsMinusInf {
  STEN_DEVICE static bool value(float x) { return x == -std::numeric_limits<float>::infinity(); }
};
struct IsInf {
  STEN_DEVICE static bool value(float x) { return IsPlusInf::value(x) || IsMinusInf::value(x); }
};
struct Not {
  STEN_DEVICE static bool value(std::uint8_t x) { return x == 0; }
};
struct And {
  STEN_DEVICE static bool value(std::uint8_t a, std::uint8_t b) { return a != 0 && b != 0; }
};
struct Or {
  STEN_DEVICE static bool value(std::uint8_t a, std::uint8_t b) { return a != 0 || b != 0; }
};
struct Xor {
  STEN_DEVICE static bool value(std::uint8_t a, std::uint8_t b) { return (a != 0) != (b != 0); }
};

}  // namespace formulas

// Calls run(the formula of f).
template <class Run>
void with_formula(BinaryFunction f, Run&& run) {
  switch (f) {
    case BinaryFunction::add:
      return run(formulas::Add{});
    case BinaryFunction::sub:
      return run(formulas::Sub{});
    case BinaryFunction::mul:
      return run(formulas::Mul{});
    case BinaryFunction::div:
      return run(formulas::Div{});
    case BinaryFunction::pow:
      return run(formulas::Pow{});
    case BinaryFunction::p_relu:
      return run(formulas::PRelu{});
    case BinaryFunction::min:
      return run(formulas::Min{});
    case BinaryFunction::max:
      return run(formulas::Max{});
  }
}

}  // namespace sten::kernels
