// Between float32 and pairs of bfloat16: two features of a token side by side, a row of tokens after
// the other, as tiles want their second operand.
//
// Rounding is to the nearest, ties to even. NaN stays NaN and is made quiet; infinity stays, and what
// is beyond the greatest number becomes it. Numbers below 2^-126 become 0 of their sign, which is how
// processors round. All tables give the same results to the last bit.
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

// Strides are counted in elements, those of pairs too: pair p of token t is at [p * stride + 2 t]. The
// partner of an odd last feature is 0.
struct InterleavedTable {
  // From rows of features, [features, tokens].
  void (*round_features)(const float* x, std::int64_t ldx, std::int64_t features,
                         std::int64_t tokens, std::uint16_t* y, std::int64_t ldy);
  // From rows of tokens, [tokens, features].
  void (*round_tokens)(const float* x, std::int64_t ldx, std::int64_t features, std::int64_t tokens,
                       std::uint16_t* y, std::int64_t ldy);
  // The same of bfloat16, whose bits are copied.
  void (*interleave_features)(const std::uint16_t* x, std::int64_t ldx, std::int64_t features,
                              std::int64_t tokens, std::uint16_t* y, std::int64_t ldy);
  void (*interleave_tokens)(const std::uint16_t* x, std::int64_t ldx, std::int64_t features,
                            std::int64_t tokens, std::uint16_t* y, std::int64_t ldy);
  // As round_features and interleave_features, to panels of ldy / 2 tokens: from one to the next `step`.
  void (*round_panels)(const float* x, std::int64_t ldx, std::int64_t features, std::int64_t tokens,
                       std::uint16_t* y, std::int64_t ldy, std::int64_t step);
  void (*interleaved_panels)(const std::uint16_t* x, std::int64_t ldx, std::int64_t features,
                             std::int64_t tokens, std::uint16_t* y, std::int64_t ldy,
                             std::int64_t step);
  // From pairs to rows of features, exactly.
  void (*widen_features)(const std::uint16_t* x, std::int64_t ldx, std::int64_t features,
                         std::int64_t tokens, float* y, std::int64_t ldy);
  // Rows of features to rows of tokens, both float32: y[t][k] = x[k][t]. `stream`: whole lines of 64
  // bytes that y has aligned go past the caches, and stream_done() of kernels/epilogue.h follows.
  void (*transpose_panel)(const float* x, std::int64_t ldx, std::int64_t features,
                          std::int64_t tokens, bool stream, float* y, std::int64_t ldy);
};

// nullptr where has_isa() says no.
const InterleavedTable* interleaved_for(Isa isa);
// Of active_isa().
const InterleavedTable& interleaved();

}  // namespace sten::kernels
