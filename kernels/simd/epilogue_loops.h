// SPDX-License-Identifier: Apache-2.0
// The loops of kernels/epilogue.h, which the compiler vectorizes.
#pragma once
#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/csr.h"
#include "kernels/epilogue.h"
#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

#define STEN_INLINE_LOOP inline __attribute__((always_inline))

// Conditions are bit operations, so that loops vectorize for AVX2.

// e^x for x with the sign bit set, to a few ulp; e^-87 below -87.
STEN_INLINE_LOOP float exp_negative(float x) {
  constexpr auto least = std::bit_cast<std::uint32_t>(-87.0f);
  const auto as_bits = std::bit_cast<std::uint32_t>(x);
  const float bounded = std::bit_cast<float>(as_bits < least ? as_bits : least);
  // x = k ln 2 + r: adding 1.5 * 2^23 rounds to the nearest integer.
  const float shifted = bounded * 1.44269504f + 12582912.0f;
  const float k = shifted - 12582912.0f;
  const float r = (bounded - k * 0.693359375f) + k * 2.12194440e-4f;
  float p = 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const auto bits = std::bit_cast<std::uint32_t>(shifted) << 23;  // k as exponent bits
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(p) + bits);
}

// erf to 1.5e-7: Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26.
STEN_INLINE_LOOP float gelu(float x) {
  const float z = std::abs(x) * 0.70710678f;
  const float t = 1.0f / (1.0f + 0.3275911f * z);
  float p = 1.061405429f;
  p = p * t - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  const float erf = 1.0f - p * t * exp_negative(-z * z);
  const auto sign = std::bit_cast<std::uint32_t>(x) & 0x80000000u;
  return 0.5f * x * (1.0f + std::bit_cast<float>(std::bit_cast<std::uint32_t>(erf) ^ sign));
}

// x / (1 + e^-u), using only e^-|u|.
STEN_INLINE_LOOP float share_of(float x, float u) {
  const float a = std::abs(u), e = exp_negative(-a), s = 1.0f / (1.0f + e);
  // By the sign of u: s, or e s.
  const std::uint32_t negative = 0u - (std::bit_cast<std::uint32_t>(u) >> 31);
  const auto one = std::bit_cast<std::uint32_t>(1.0f);
  const std::uint32_t by = (std::bit_cast<std::uint32_t>(e) & negative) | (one & ~negative);
  return x * (std::bit_cast<float>(by) * s);
}
STEN_INLINE_LOOP float gelu_tanh(float x) {
  return share_of(x, 1.59576912f * x * (1.0f + 0.044715f * x * x));
}

template <Activation activation>
STEN_INLINE_LOOP float activated(float x) {
  if constexpr (activation == Activation::relu) return x < 0 ? 0 : x;
  if constexpr (activation == Activation::gelu) return gelu(x);
  if constexpr (activation == Activation::gelu_tanh) return gelu_tanh(x);
  if constexpr (activation == Activation::silu) return share_of(x, x);
  return x;
}

// Isa: a different type for each ISA, so that the instantiations differ. It writes lines of 64
// bytes by non-temporal stores.
template <class Isa>
class Epilogues {
  using NarrowPanel = std::integral_constant<std::int64_t, narrow_panel_width>;

  // A constant number of columns needs no inner loop, and rows overlap.
  template <Activation activation>
  static void rows_of(float* c, std::int64_t ldc, std::int64_t rows, std::int64_t columns,
                      float scale, const float* bias, const float* residual,
                      std::int64_t ld_residual) {
    if (columns == narrow_panel_width)
      return some_rows<activation>(c, ldc, rows, NarrowPanel{}, scale, bias, residual, ld_residual);
    some_rows<activation>(c, ldc, rows, columns, scale, bias, residual, ld_residual);
  }
  template <Activation activation, class Count>
  static void some_rows(float* c, std::int64_t ldc, std::int64_t rows, Count columns, float scale,
                        const float* bias, const float* residual, std::int64_t ld_residual) {
    for (std::int64_t r = 0; r < rows; ++r) {
      float* x = c + r * ldc;
      const float b = bias ? bias[r] : 0;
      if (residual) {
        const float* other = residual + r * ld_residual;
        for (std::int64_t j = 0; j < columns; ++j)
          x[j] = activated<activation>(x[j] * scale + b + other[j]);
      } else {
        for (std::int64_t j = 0; j < columns; ++j) x[j] = activated<activation>(x[j] * scale + b);
      }
    }
  }

  static auto rows_by(Activation activation) {
    switch (activation) {
      case Activation::relu:
        return rows_of<Activation::relu>;
      case Activation::gelu:
        return rows_of<Activation::gelu>;
      case Activation::gelu_tanh:
        return rows_of<Activation::gelu_tanh>;
      case Activation::silu:
        return rows_of<Activation::silu>;
      default:
        return rows_of<Activation::none>;
    }
  }
  static void finish(float* c, std::int64_t ldc, std::int64_t rows, std::int64_t columns,
                     float scale, const float* bias, const float* residual,
                     std::int64_t ld_residual, Activation activation) {
    const auto of = rows_by(activation);
    of(c, ldc, rows, columns, scale, bias, residual, ld_residual);
  }

  static void stream_row(const float* from, std::int64_t count, float* to) {
    constexpr std::int64_t line = 64 / sizeof(float);
    const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % 64);
    std::int64_t i = std::min(count, (64 - past) % 64 / std::int64_t{sizeof(float)});
    std::copy_n(from, i, to);
    for (; i + line <= count; i += line) Isa::stream_line(from + i, to + i);
    std::copy(from + i, from + count, to + i);
  }
  static void stream(const float* from, std::int64_t ld_from, std::int64_t rows,
                     std::int64_t columns, float* to, std::int64_t ld_to) {
    for (std::int64_t r = 0; r < rows; ++r) stream_row(from + r * ld_from, columns, to + r * ld_to);
  }
  static void stream_done() { _mm_sfence(); }

 public:
  static constexpr EpilogueTable table() { return {finish, stream, stream_done}; }
};

}  // namespace sten::kernels::simd
STEN_TARGET_END
