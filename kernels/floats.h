// SPDX-License-Identifier: Apache-2.0
// The floating-point types that sparsifiers rank, and their exact conversion to float32 and
// float64, on devices too.
#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

#include "kernels/device.h"

namespace sten::kernels {

// IEEE binary64, binary32 and binary16, bfloat16, and the 8-bit formats of OCP: E4M3 has bias 7, no
// infinities and NaN at S.1111.111; E5M2 is the upper half of a binary16.
enum class FloatKind : std::uint8_t { f64, f32, f16, bf16, f8_e4m3, f8_e5m2 };

constexpr int width_of(FloatKind k) {
  return k == FloatKind::f64 ? 8 : k == FloatKind::f32 ? 4 : k <= FloatKind::bf16 ? 2 : 1;
}

// Decodes a type with `exponent_bits` exponent bits whose 16 bits are laid out as in IEEE formats.
template <int exponent_bits>
STEN_HOST_DEVICE inline float decode_small_float(std::uint32_t sign, std::uint32_t magnitude,
                                                 bool is_special) {
  constexpr int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const std::uint32_t moved = magnitude << (23 - fraction_bits);
  if (is_special) return std::bit_cast<float>(sign | 0x7f800000u | moved);
  if (magnitude >> fraction_bits != 0)
    return std::bit_cast<float>(sign | (moved + (std::uint32_t{127 - bias} << 23)));
  // Zero and subnormals are magnitude * 2^(1 - bias - fraction_bits).
  constexpr std::uint32_t unit = std::uint32_t{127 + 1 - bias - fraction_bits} << 23;
  const float v = static_cast<float>(magnitude) * std::bit_cast<float>(unit);
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(v));
}

STEN_HOST_DEVICE inline float decode_f16_bits(std::uint16_t h) {
  const std::uint32_t magnitude = h & 0x7fffu;
  return decode_small_float<5>(std::uint32_t{h & 0x8000u} << 16, magnitude, magnitude >= 0x7c00u);
}

// The bit pattern of one type and its value. Without the sign bit, patterns order as |x| does.
template <FloatKind kind>
struct FloatBits;

template <FloatKind k, class U, class S, U first>
struct FloatBitsOf {
  static constexpr FloatKind kind = k;
  using Bits = U;
  using Score = S;
  static constexpr Bits first_not_finite = first;  // infinity, or NaN for a type without infinities
};

template <>
struct FloatBits<FloatKind::f64>
    : FloatBitsOf<FloatKind::f64, std::uint64_t, double, 0x7ff0000000000000> {
  STEN_HOST_DEVICE static double decode(Bits b) { return std::bit_cast<double>(b); }
};
template <>
struct FloatBits<FloatKind::f32> : FloatBitsOf<FloatKind::f32, std::uint32_t, float, 0x7f800000> {
  STEN_HOST_DEVICE static float decode(Bits b) { return std::bit_cast<float>(b); }
};
template <>
struct FloatBits<FloatKind::f16> : FloatBitsOf<FloatKind::f16, std::uint16_t, float, 0x7c00> {
  STEN_HOST_DEVICE static float decode(Bits b) { return decode_f16_bits(b); }
};
template <>
struct FloatBits<FloatKind::bf16> : FloatBitsOf<FloatKind::bf16, std::uint16_t, float, 0x7f80> {
  STEN_HOST_DEVICE static float decode(Bits b) {
    return std::bit_cast<float>(std::uint32_t{b} << 16);
  }
};
template <>
struct FloatBits<FloatKind::f8_e4m3> : FloatBitsOf<FloatKind::f8_e4m3, std::uint8_t, float, 0x7f> {
  STEN_HOST_DEVICE static float decode(Bits b) {
    const std::uint32_t sign = std::uint32_t{b & 0x80u} << 24, magnitude = b & 0x7fu;
    if (magnitude == 0x7fu) return std::bit_cast<float>(sign | 0x7fc00000u);
    return decode_small_float<4>(sign, magnitude << 8, false);
  }
};
template <>
struct FloatBits<FloatKind::f8_e5m2> : FloatBitsOf<FloatKind::f8_e5m2, std::uint8_t, float, 0x7c> {
  STEN_HOST_DEVICE static float decode(Bits b) {
    return decode_f16_bits(static_cast<std::uint16_t>(b << 8));
  }
};

// Calls f(FloatBits<kind>{}).
template <class F>
decltype(auto) with_float(FloatKind kind, F&& f) {
  switch (kind) {
    case FloatKind::f64:
      return f(FloatBits<FloatKind::f64>{});
    case FloatKind::f16:
      return f(FloatBits<FloatKind::f16>{});
    case FloatKind::bf16:
      return f(FloatBits<FloatKind::bf16>{});
    case FloatKind::f8_e4m3:
      return f(FloatBits<FloatKind::f8_e4m3>{});
    case FloatKind::f8_e5m2:
      return f(FloatBits<FloatKind::f8_e5m2>{});
    default:
      return f(FloatBits<FloatKind::f32>{});
  }
}

// Element i of an array of any type but f64, for kernels that are not specialized by type.
STEN_HOST_DEVICE inline float load_float(const void* x, FloatKind kind, std::int64_t i) {
  switch (kind) {
    case FloatKind::f16:
      return FloatBits<FloatKind::f16>::decode(static_cast<const std::uint16_t*>(x)[i]);
    case FloatKind::bf16:
      return FloatBits<FloatKind::bf16>::decode(static_cast<const std::uint16_t*>(x)[i]);
    case FloatKind::f8_e4m3:
      return FloatBits<FloatKind::f8_e4m3>::decode(static_cast<const std::uint8_t*>(x)[i]);
    case FloatKind::f8_e5m2:
      return FloatBits<FloatKind::f8_e5m2>::decode(static_cast<const std::uint8_t*>(x)[i]);
    default:
      return static_cast<const float*>(x)[i];
  }
}

// Calls f(U{}), where U is the unsigned integer of `width` bytes.
template <class F>
decltype(auto) with_unsigned(int width, F&& f) {
  switch (width) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 8:
      return f(std::uint64_t{});
    default:
      return f(std::uint32_t{});
  }
}

}  // namespace sten::kernels
