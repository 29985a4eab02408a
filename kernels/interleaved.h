// SPDX-License-Identifier: Apache-2.0
// Conversion between float32 and interleaved bfloat16: two features of a token side by side, in
// rows of tokens, as dot-product (VNNI) and tile instructions read their second operand.
//
// Rounding is to nearest, ties to even. NaN stays NaN and becomes quiet; infinity stays, and values
// that overflow become infinity. Magnitudes less than 2^-126 become 0 of their sign, as the
// instructions round. All tables give bitwise identical results.
#pragma once
#include <bit>
#include <cstdint>

#include "kernels/isa.h"

namespace sten::kernels {

constexpr std::uint16_t round_to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  if (magnitude < 0x00800000u) return static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}
constexpr float widen_bf16(std::uint16_t b) { return std::bit_cast<float>(std::uint32_t{b} << 16); }

// Strides are in elements: pair p of token t is at [p * stride + 2 t]. The partner of an odd last
// feature is 0.
struct InterleavedTable {
  // Rounds x [features, tokens].
  void (*round_features)(const float* x, std::int64_t ldx, std::int64_t features,
                         std::int64_t tokens, std::uint16_t* y, std::int64_t ldy);
  // Rounds x [tokens, features].
  void (*round_tokens)(const float* x, std::int64_t ldx, std::int64_t features, std::int64_t tokens,
                       std::uint16_t* y, std::int64_t ldy);
  // The same for bfloat16 input, whose bits are copied.
  void (*interleave_features)(const std::uint16_t* x, std::int64_t ldx, std::int64_t features,
                              std::int64_t tokens, std::uint16_t* y, std::int64_t ldy);
  void (*interleave_tokens)(const std::uint16_t* x, std::int64_t ldx, std::int64_t features,
                            std::int64_t tokens, std::uint16_t* y, std::int64_t ldy);
  // round_features() and interleave_features() to panels of ldy / 2 tokens; `step` is the distance
  // of two panels.
  void (*round_panels)(const float* x, std::int64_t ldx, std::int64_t features, std::int64_t tokens,
                       std::uint16_t* y, std::int64_t ldy, std::int64_t step);
  void (*interleaved_panels)(const std::uint16_t* x, std::int64_t ldx, std::int64_t features,
                             std::int64_t tokens, std::uint16_t* y, std::int64_t ldy,
                             std::int64_t step);
  // Widens interleaved x to y [features, tokens], exactly.
  void (*widen_features)(const std::uint16_t* x, std::int64_t ldx, std::int64_t features,
                         std::int64_t tokens, float* y, std::int64_t ldy);
  // Transposes float32 rows of features to rows of tokens: y[t][k] = x[k][t]. With `stream`,
  // aligned lines of 64 bytes of y are written by non-temporal stores; call stream_done() of
  // kernels/epilogue.h afterwards.
  void (*transpose_panel)(const float* x, std::int64_t ldx, std::int64_t features,
                          std::int64_t tokens, bool stream, float* y, std::int64_t ldy);
};

// nullptr unless has_isa(isa).
const InterleavedTable* interleaved_for(Isa isa);
// The table for active_isa().
const InterleavedTable& interleaved();

}  // namespace sten::kernels
