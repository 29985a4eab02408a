// SPDX-License-Identifier: Apache-2.0
// Values of the dtypes of data sets.
#pragma once
#include <bit>
#include <cstdint>

#include "libsten/core/base/floats.h"

namespace sten {

// Calls f(U{}, number): U has the bits of an element, and number(U) returns its value, an integer
// or floating-point number. False for dtypes without real numbers, or that data sets do not use.
template <class F>
bool with_scalar(DType t, F&& f) {
  const auto as_is = [](auto v) { return v; };
  switch (t) {
    case DType::BOOL:
      return f(std::uint8_t{}, [](std::uint8_t v) -> std::uint8_t { return v != 0; }), true;
    case DType::U8:
      return f(std::uint8_t{}, as_is), true;
    case DType::I8:
      return f(std::int8_t{}, as_is), true;
    case DType::U16:
      return f(std::uint16_t{}, as_is), true;
    case DType::I16:
      return f(std::int16_t{}, as_is), true;
    case DType::U32:
      return f(std::uint32_t{}, as_is), true;
    case DType::I32:
      return f(std::int32_t{}, as_is), true;
    case DType::U64:
      return f(std::uint64_t{}, as_is), true;
    case DType::I64:
      return f(std::int64_t{}, as_is), true;
    case DType::F16:
      return f(std::uint16_t{}, FloatBits<FloatKind::f16>::decode), true;
    case DType::F32:
      return f(float{}, as_is), true;
    case DType::F64:
      return f(double{}, as_is), true;
    default:
      return false;
  }
}

}  // namespace sten
