// SPDX-License-Identifier: Apache-2.0
#include "kernels/interleaved.h"

namespace sten::kernels {
namespace {

// at(k, t): feature k of token t, rounded to bfloat16.
template <class F>
void fill_interleaved(std::int64_t features, std::int64_t tokens, std::uint16_t* y,
                      std::int64_t ldy, F&& at) {
  for (std::int64_t k = 0; k < features; k += 2)
    for (std::int64_t t = 0; t < tokens; ++t) {
      y[k / 2 * ldy + 2 * t] = at(k, t);
      y[k / 2 * ldy + 2 * t + 1] = k + 1 < features ? at(k + 1, t) : 0;
    }
}

void round_features(const float* x, std::int64_t ldx, std::int64_t features, std::int64_t tokens,
                    std::uint16_t* y, std::int64_t ldy) {
  fill_interleaved(features, tokens, y, ldy,
                   [&](std::int64_t k, std::int64_t t) { return round_to_bf16(x[k * ldx + t]); });
}
void round_tokens(const float* x, std::int64_t ldx, std::int64_t features, std::int64_t tokens,
                  std::uint16_t* y, std::int64_t ldy) {
  fill_interleaved(features, tokens, y, ldy,
                   [&](std::int64_t k, std::int64_t t) { return round_to_bf16(x[t * ldx + k]); });
}
void interleave_features(const std::uint16_t* x, std::int64_t ldx, std::int64_t features,
                         std::int64_t tokens, std::uint16_t* y, std::int64_t ldy) {
  fill_interleaved(features, tokens, y, ldy,
                   [&](std::int64_t k, std::int64_t t) { return x[k * ldx + t]; });
}
void interleave_tokens(const std::uint16_t* x, std::int64_t ldx, std::int64_t features,
                       std::int64_t tokens, std::uint16_t* y, std::int64_t ldy) {
  fill_interleaved(features, tokens, y, ldy,
                   [&](std::int64_t k, std::int64_t t) { return x[t * ldx + k]; });
}
// Calls f(tokens, x, y) for each panel.
template <class T, class F>
void each_panel(const T* x, std::int64_t tokens, std::uint16_t* y, std::int64_t ldy,
                std::int64_t step, F&& f) {
  for (std::int64_t t = 0; t < tokens; t += ldy / 2, y += step)
    f(tokens - t < ldy / 2 ? tokens - t : ldy / 2, x + t, y);
}
void round_panels(const float* x, std::int64_t ldx, std::int64_t features, std::int64_t tokens,
                  std::uint16_t* y, std::int64_t ldy, std::int64_t step) {
  each_panel(x, tokens, y, ldy, step, [&](std::int64_t some, const float* from, std::uint16_t* to) {
    round_features(from, ldx, features, some, to, ldy);
  });
}
void interleaved_panels(const std::uint16_t* x, std::int64_t ldx, std::int64_t features,
                        std::int64_t tokens, std::uint16_t* y, std::int64_t ldy,
                        std::int64_t step) {
  each_panel(x, tokens, y, ldy, step,
             [&](std::int64_t some, const std::uint16_t* from, std::uint16_t* to) {
               interleave_features(from, ldx, features, some, to, ldy);
             });
}
void widen_features(const std::uint16_t* x, std::int64_t ldx, std::int64_t features,
                    std::int64_t tokens, float* y, std::int64_t ldy) {
  for (std::int64_t k = 0; k < features; ++k)
    for (std::int64_t t = 0; t < tokens; ++t)
      y[k * ldy + t] = widen_bf16(x[k / 2 * ldx + 2 * t + k % 2]);
}
void transpose_panel(const float* x, std::int64_t ldx, std::int64_t features, std::int64_t tokens,
                     bool, float* y, std::int64_t ldy) {
  for (std::int64_t k = 0; k < features; ++k)
    for (std::int64_t t = 0; t < tokens; ++t) y[t * ldy + k] = x[k * ldx + t];
}

}  // namespace

const InterleavedTable* interleaved_reference() {
  static constexpr InterleavedTable table{round_features,    round_tokens,   interleave_features,
                                          interleave_tokens, round_panels,   interleaved_panels,
                                          widen_features,    transpose_panel};
  return &table;
}

}  // namespace sten::kernels
