// Decoding of floating-point types, on devices too: as libsten/base/floats.h, exactly.
#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

#include "kernels/device.h"

namespace sten::kernels {

// As FloatKernels of kernels/elementwise.h.
enum class FloatKind : std::uint8_t { f64, f32, f16, bf16, f8_e4m3, f8_e5m2 };

constexpr int width_of(FloatKind k) {
  return k == FloatKind::f64 ? 8 : k == FloatKind::f32 ? 4 : k <= FloatKind::bf16 ? 2 : 1;
}

// A kind whose exponents and fractions have so many bits and lie where those of its 16 bits do.
template <int exponent_bits>
STEN_HOST_DEVICE inline float decode_small_float(std::uint32_t sign, std::uint32_t magnitude,
                                                 bool is_special) {
  constexpr int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const std::uint32_t moved = magnitude << (23 - fraction_bits);
  if (is_special) return std::bit_cast<float>(sign | 0x7f800000u | moved);
  if (magnitude >> fraction_bits != 0)
    return std::bit_cast<float>(sign | (moved + (std::uint32_t{127 - bias} << 23)));
  // Zero and subnormals: times 2^(1 - bias - fraction_bits).
  constexpr std::uint32_t unit = std::uint32_t{127 + 1 - bias - fraction_bits} << 23;
  const float v = static_cast<float>(magnitude) * std::bit_cast<float>(unit);
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(v));
}

// IEEE binary16.
STEN_HOST_DEVICE inline float decode_f16_bits(std::uint16_t h) {
  const std::uint32_t magnitude = h & 0x7fffu;
  return decode_small_float<5>(std::uint32_t{h & 0x8000u} << 16, magnitude, magnitude >= 0x7c00u);
}

// Of one kind: its bits, and what they stand for.
template <FloatKind kind>
struct FloatBits;

template <>
struct FloatBits<FloatKind::f64> {
  using Bits = std::uint64_t;
  using Score = double;
  STEN_HOST_DEVICE static double decode(Bits b) { return std::bit_cast<double>(b); }
};
template <>
struct FloatBits<FloatKind::f32> {
  using Bits = std::uint32_t;
  using Score = float;
  STEN_HOST_DEVICE static float decode(Bits b) { return std::bit_cast<float>(b); }
};
template <>
struct FloatBits<FloatKind::f16> {
  using Bits = std::uint16_t;
  using Score = float;
  STEN_HOST_DEVICE static float decode(Bits b) { return decode_f16_bits(b); }
};
template <>
struct FloatBits<FloatKind::bf16> {  // the upper half of a binary32
  using Bits = std::uint16_t;
  using Score = float;
  STEN_HOST_DEVICE static float decode(Bits b) {
    return std::bit_cast<float>(std::uint32_t{b} << 16);
  }
};
template <>
struct FloatBits<FloatKind::f8_e4m3> {  // no infinities, S.1111.111 is NaN
  using Bits = std::uint8_t;
  using Score = float;
  STEN_HOST_DEVICE static float decode(Bits b) {
    const std::uint32_t magnitude = b & 0x7fu;
    return decode_small_float<4>(std::uint32_t{b & 0x80u} << 24, magnitude << 8,
                                 magnitude == 0x7fu);
  }
};
template <>
struct FloatBits<FloatKind::f8_e5m2> {  // the upper byte of a binary16
  using Bits = std::uint8_t;
  using Score = float;
  STEN_HOST_DEVICE static float decode(Bits b) {
    return decode_f16_bits(static_cast<std::uint16_t>(b << 8));
  }
};

// Element i of an array of any kind but f64; kernels that are not worth a form for each kind have
// it so.
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

// f(U{}), U the unsigned integer of `width` bytes.
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
