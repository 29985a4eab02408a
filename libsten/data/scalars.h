// Numbers of the dtypes that data sets are stored in.
#pragma once
#include <bit>
#include <cstdint>

#include "libsten/base/floats.h"

namespace sten {

// f(U{}, number) with U the bits of an element and number(U) its value, an integer or a
// floating-point number. False where the dtype holds no real numbers, or none that data sets use.
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
