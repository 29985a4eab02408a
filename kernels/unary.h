// SPDX-License-Identifier: Apache-2.0
// The formulas of the unary elementwise operators (unary.def) and of their gradients.
#pragma once
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <numbers>

#include "kernels/device.h"

namespace sten::kernels {

enum class UnaryFunction : std::uint8_t {
#define UNARY(name, ...) name,
#include "kernels/unary.def"
#undef UNARY
};

// The attributes of a function, 0 if unused.
template <class T>
struct UnaryParameters {
  T a = 0, b = 0;
};

namespace unary {

template <class T>
inline constexpr T root_half = 1 / std::numbers::sqrt2_v<T>;
template <class T>
inline constexpr T inv_sqrtpi = std::numbers::inv_sqrtpi_v<T>;
template <class T>
inline constexpr T density_at_0 = root_half<T>* inv_sqrtpi<T>;  // 1 / sqrt(2 pi)

template <class T>
STEN_DEVICE T sigmoid_of(T x) {
  return 1 / (1 + std::exp(-x));
}
template <class T>
STEN_DEVICE T sign_of(T x) {
  return x > 0 ? T{1} : x < 0 ? T{-1} : x;
}
// Integers wrap.
template <class T>
STEN_DEVICE T negative_of(T x) {
  if constexpr (std::integral<T>)
    return static_cast<T>(0 - static_cast<std::uint64_t>(x));
  else
    return -x;
}
template <class T>
STEN_DEVICE T magnitude_of(T x) {
  if constexpr (std::integral<T>)
    return x < 0 ? negative_of(x) : x;
  else
    return std::fabs(x);
}
// By value, unlike std::clamp, so that compilers vectorize. NaN stays NaN.
template <class T>
STEN_DEVICE T at_least(T low, T x) {
  return x < low ? low : x;
}
template <class T>
STEN_DEVICE T at_most(T high, T x) {
  return x > high ? high : x;
}

}  // namespace unary

// x sigmoid(u(x)), whose derivative is s (1 + (1 - s) x u'(x)) with s = sigmoid(u(x)). Members:
// lowest() is an x below which the result is 0, exponent(x) is u(x), slope(x) is x u'(x).
struct SiluGate {
  template <class T>
  STEN_DEVICE static T lowest() {
    return sizeof(T) == 4 ? -104 : -750;
  }
  template <class T>
  STEN_DEVICE static T exponent(T x) {
    return x;
  }
  template <class T>
  STEN_DEVICE static T slope(T x) {
    return x;
  }
};
// x / 2 (1 + tanh u) = x / (1 + e^-2u) with u = sqrt(2 / pi) (x + 0.044715 x^3) (Hendrycks and
// Gimpel 2016). For |x| >= limit the quotient is 0 or 1, so x is clamped to avoid overflow of its
// powers.
struct GeluTanhGate {
  static constexpr int limit = 20;
  template <class T>
  static constexpr T cubic = static_cast<T>(0.044715);
  template <class T>
  static constexpr T twice = 2 * std::numbers::sqrt2_v<T>* std::numbers::inv_sqrtpi_v<T>;

  template <class T>
  STEN_DEVICE static T lowest() {
    return -limit;
  }
  template <class T>
  STEN_DEVICE static T within(T x) {
    return unary::at_most(T{limit}, unary::at_least(T{-limit}, x));
  }
  template <class T>
  STEN_DEVICE static T exponent(T x) {
    const T v = within(x);
    return twice<T> * v * (1 + cubic<T> * v * v);
  }
  template <class T>
  STEN_DEVICE static T slope(T x) {
    const T v = within(x);
    return twice<T> * v * (1 + 3 * cubic<T> * v * v);
  }
};

namespace unary {

template <class Gate, class T>
STEN_DEVICE T gated(T x) {
  return at_least(Gate::template lowest<T>(), x) * sigmoid_of(Gate::exponent(x));
}
// s: sigmoid(Gate::exponent(x)).
template <class Gate, class T>
STEN_DEVICE T gated_grad(T dy, T x, T s) {
  return dy * s * (1 + (1 - s) * Gate::slope(x));
}
template <class Gate, class T>
STEN_DEVICE T gated_grad(T dy, T x) {
  return gated_grad<Gate>(dy, x, sigmoid_of(Gate::exponent(x)));
}

// The formula of a row: value(x, p), and grad(dy, x or y, p).
#define UNARY(name, traits, value_of, grad_of)                                        \
  struct name {                                                                       \
    template <class T>                                                                \
    STEN_DEVICE static T value(T x, UnaryParameters<T> p) {                           \
      [[maybe_unused]] const T a = p.a, b = p.b;                                      \
      value_of                                                                        \
    }                                                                                 \
    template <class T>                                                                \
    STEN_DEVICE static T grad([[maybe_unused]] T dy, T saved, UnaryParameters<T> p) { \
      [[maybe_unused]] const T x = saved, y = saved, a = p.a, b = p.b;                \
      grad_of                                                                         \
    }                                                                                 \
  };
#include "kernels/unary.def"
#undef UNARY

}  // namespace unary

// Calls run(the formula of f).
template <class Run>
void with_formula(UnaryFunction f, Run&& run) {
  switch (f) {
#define UNARY(name, ...)    \
  case UnaryFunction::name: \
    return run(unary::name{});
#include "kernels/unary.def"
#undef UNARY
  }
}

}  // namespace sten::kernels
