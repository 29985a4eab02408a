// Tests of one or two elements: the formulas of libsten/compute/ops/elementwise/compare.cpp.
#pragma once
#include <limits>

#include "kernels/block/map_functions.h"

namespace sten::kernels {

namespace formulas {

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

}  // namespace sten::kernels
