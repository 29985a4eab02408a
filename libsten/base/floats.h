// Decoding of the floating-point types that a sparsifier ranks. Decoding to float is exact.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "libsten/base/dtype.h"

namespace sten {

// IEEE binary16.
inline float decode_f16(std::uint16_t h) {
  const std::uint32_t sign = std::uint32_t{h & 0x8000u} << 16;
  const std::uint32_t exponent = h >> 10 & 0x1fu, fraction = h & 0x3ffu;
  if (exponent == 0) {  // zero and subnormals: fraction * 2^-24
    const float v = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(v) | sign);
  }
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

// The upper half of an IEEE binary32.
inline float decode_bf16(std::uint16_t b) { return std::bit_cast<float>(std::uint32_t{b} << 16); }

// OCP 8-bit E5M2: the upper byte of a binary16.
inline float decode_f8_e5m2(std::uint8_t b) {
  return decode_f16(static_cast<std::uint16_t>(b << 8));
}

// OCP 8-bit E4M3 (bias 7, no infinities, S.1111.111 is NaN).
inline float decode_f8_e4m3(std::uint8_t b) {
  const int exponent = b >> 3 & 15, fraction = b & 7;
  float v = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -9)
                          : std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
  if ((b & 0x7f) == 0x7f) v = std::numeric_limits<float>::quiet_NaN();
  return b & 0x80 ? -v : v;
}

// A prunable element type: its bits, how to decode them, and `magnitude`, an unsigned integer that
// orders as |x| does (the bits without the sign).
struct F64Element {
  using Bits = std::uint64_t;
  using Score = double;
  static Score decode(Bits b) { return std::bit_cast<double>(b); }
};
struct F32Element {
  using Bits = std::uint32_t;
  using Score = float;
  static Score decode(Bits b) { return std::bit_cast<float>(b); }
};
struct F16Element {
  using Bits = std::uint16_t;
  using Score = float;
  static Score decode(Bits b) { return decode_f16(b); }
};
struct BF16Element {
  using Bits = std::uint16_t;
  using Score = float;
  static Score decode(Bits b) { return decode_bf16(b); }
};
struct F8E4M3Element {
  using Bits = std::uint8_t;
  using Score = float;
  static Score decode(Bits b) { return decode_f8_e4m3(b); }
};
struct F8E5M2Element {
  using Bits = std::uint8_t;
  using Score = float;
  static Score decode(Bits b) { return decode_f8_e5m2(b); }
};

// f(Element{}) for a prunable dtype; is_prunable(t) must hold.
template <class F>
decltype(auto) with_float(DType t, F&& f) {
  switch (t) {
    case DType::F64:
      return f(F64Element{});
    case DType::F16:
      return f(F16Element{});
    case DType::BF16:
      return f(BF16Element{});
    case DType::F8_E4M3:
      return f(F8E4M3Element{});
    case DType::F8_E5M2:
      return f(F8E5M2Element{});
    default:
      return f(F32Element{});
  }
}

}  // namespace sten
