// SPDX-License-Identifier: Apache-2.0
// The formulas of the binary elementwise operators (binary.def) and of their gradients.
#pragma once
#include <cmath>
#include <cstdint>

#include "kernels/device.h"

namespace sten::kernels {

enum class BinaryFunction : std::uint8_t {
#define BINARY(name, ...) name,
#include "kernels/binary.def"
#undef BINARY
};

namespace binary {

// Avoids pow() for squares and their gradients, the most common powers.
template <class T>
STEN_DEVICE T power_of(T a, T b) {
  return b == 2 ? a * a : b == 1 ? a : std::pow(a, b);
}
template <class T>
STEN_DEVICE T if_less(T dy, T a, T b) {
  return a == b ? dy / 2 : a > b ? T{0} : dy;
}

// The formula of a row: value(a, b), and grad_a(dy, a, b) and grad_b(dy, a, b).
#define BINARY(name, traits, value_of, grad_of_a, grad_of_b)                                    \
  struct name {                                                                                 \
    template <class T>                                                                          \
    STEN_DEVICE static T value(T a, T b) value_of template <class T>                            \
    STEN_DEVICE static T grad_a(T dy, [[maybe_unused]] T a, [[maybe_unused]] T b) grad_of_a     \
        template <class T>                                                                      \
        STEN_DEVICE static T grad_b(T dy, [[maybe_unused]] T a, [[maybe_unused]] T b) grad_of_b \
  };
#include "kernels/binary.def"
#undef BINARY

}  // namespace binary

// Calls run(the formula of f).
template <class Run>
void with_formula(BinaryFunction f, Run&& run) {
  switch (f) {
#define BINARY(name, ...)    \
  case BinaryFunction::name: \
    return run(binary::name{});
#include "kernels/binary.def"
#undef BINARY
  }
}

}  // namespace sten::kernels
