// SPDX-License-Identifier: Apache-2.0
// The loops of kernels/interleaved.h, for vectors of any width. V has
//   lanes            L, values per vector
//   Vec              L pairs, or the bits of L floats
//   round(e, o)      rounds L even and L odd features, given as floats, to L pairs
//   round_row(x)     rounds 2 L features of one token to L pairs
//   merge(e, o)      as round() for bfloat16; 16 lanes: merge_rows(e, o, to) for twice as many
//   transpose(rows)  transposes L vectors
//   stream(to, v)    non-temporal store; `to` is aligned
#pragma once
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "kernels/interleaved.h"
#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

template <class V>
class InterleavedLoops {
  using Vec = typename V::Vec;
  static constexpr std::int64_t lanes = V::lanes;

  static void store(std::uint16_t* to, Vec v) { std::memcpy(to, &v, sizeof v); }
  static Vec pairs_of(const float* even, const float* odd) { return V::round(even, odd); }
  static Vec pairs_of(const std::uint16_t* even, const std::uint16_t* odd) {
    return V::merge(even, odd);
  }
  static Vec row_of(const float* x) { return V::round_row(x); }
  static Vec row_of(const std::uint16_t* x) {
    Vec v;
    std::memcpy(&v, x, sizeof v);
    return v;
  }

  // odd: nullptr for zeros.
  template <class T>
  static void row(const T* even, const T* odd, std::int64_t tokens, std::uint16_t* y) {
    alignas(64) static constexpr T zeros[lanes]{};
    std::int64_t t = 0;
    if constexpr (sizeof(T) == 2 && lanes == 16)
      if (odd)
        for (; t + 2 * lanes <= tokens; t += 2 * lanes) V::merge_rows(even + t, odd + t, y + 2 * t);
    for (; t + lanes <= tokens; t += lanes)
      store(y + 2 * t, pairs_of(even + t, odd ? odd + t : zeros));
    if (t == tokens) return;
    alignas(64) T some[2][lanes]{};
    std::copy_n(even + t, tokens - t, some[0]);
    if (odd) std::copy_n(odd + t, tokens - t, some[1]);
    const Vec v = pairs_of(some[0], some[1]);
    std::memcpy(y + 2 * t, &v, (tokens - t) * 4);
  }

  // The features of a single token, which are contiguous.
  template <class T>
  static void token(const T* x, std::int64_t features, std::uint16_t* y) {
    std::int64_t k = 0;
    for (; k + 2 * lanes <= features; k += 2 * lanes) store(y + k, row_of(x + k));
    if (k == features) return;
    alignas(64) T some[2 * lanes]{};
    std::copy_n(x + k, features - k, some);
    const Vec v = row_of(some);
    std::memcpy(y + k, &v, (features - k + 1) / 2 * 4);
  }
  static void widen_token(const std::uint16_t* x, std::int64_t features, float* y) {
    for (std::int64_t k = 0; k < features; ++k) y[k] = widen_bf16(x[k]);
  }

  template <std::int64_t squares>
  static void transpose_tiles(const float* x, std::int64_t ldx, bool stream, float* y,
                              std::int64_t ldy) {
    Vec square[squares][lanes];
    for (std::int64_t s = 0; s < squares; ++s) {
      for (std::int64_t r = 0; r < lanes; ++r)
        std::memcpy(&square[s][r], x + (s * lanes + r) * ldx, sizeof(Vec));
      V::transpose(square[s]);
    }
    for (std::int64_t i = 0; i < lanes; ++i)
      for (std::int64_t s = 0; s < squares; ++s)
        if (stream)
          V::stream(y + i * ldy + s * lanes, square[s][i]);
        else
          std::memcpy(y + i * ldy + s * lanes, &square[s][i], sizeof(Vec));
  }

 public:
  template <class T>
  static void features(const T* x, std::int64_t ldx, std::int64_t features, std::int64_t tokens,
                       std::uint16_t* y, std::int64_t ldy) {
    if (tokens == 1 && ldx == 1 && ldy == 2) return token(x, features, y);
    for (std::int64_t k = 0; k < features; k += 2, y += ldy)
      row(x + k * ldx, k + 1 < features ? x + (k + 1) * ldx : nullptr, tokens, y);
  }

  // Row by row over all panels. Panels are written in a few lines of many pages, which hardware
  // prefetchers do not predict.
  template <class T>
  static void panels(const T* x, std::int64_t ldx, std::int64_t features, std::int64_t tokens,
                     std::uint16_t* y, std::int64_t ldy, std::int64_t step) {
    constexpr std::int64_t ahead = 48, line = 64 / static_cast<std::int64_t>(sizeof(T));
    const std::int64_t width = ldy / 2;
    for (std::int64_t k = 0; k < features; k += 2, y += ldy) {
      const T* even = x + k * ldx;
      const T* odd = k + 1 < features ? even + ldx : nullptr;
      for (std::int64_t t = 0; t < tokens; t += line) {
        _mm_prefetch(reinterpret_cast<const char*>(even + ahead * ldx + t), _MM_HINT_T1);
        _mm_prefetch(reinterpret_cast<const char*>(even + (ahead + 1) * ldx + t), _MM_HINT_T1);
      }
      std::uint16_t* to = y;
      for (std::int64_t t = 0; t < tokens; t += width, to += step)
        row(even + t, odd ? odd + t : nullptr, std::min(width, tokens - t), to);
    }
  }

  template <class T>
  static void tokens(const T* x, std::int64_t ldx, std::int64_t features, std::int64_t tokens,
                     std::uint16_t* y, std::int64_t ldy) {
    if (tokens == 1 && ldy == 2) return token(x, features, y);
    for (std::int64_t t = 0; t < tokens; t += lanes) {
      const std::int64_t count = std::min(lanes, tokens - t);
      for (std::int64_t k = 0; k < features; k += 2 * lanes) {
        const std::int64_t depth = std::min(2 * lanes, features - k);
        Vec rows[lanes];
        for (std::int64_t r = 0; r < lanes; ++r) {
          const T* from = x + (t + r) * ldx + k;
          if (r >= count) {
            rows[r] = Vec{};
          } else if (depth == 2 * lanes) {
            rows[r] = row_of(from);
          } else {
            alignas(64) T some[2 * lanes]{};
            std::copy_n(from, depth, some);
            rows[r] = row_of(some);
          }
        }
        V::transpose(rows);
        std::uint16_t* to = y + k / 2 * ldy + 2 * t;
        const std::int64_t interleaved = (depth + 1) / 2;
        if (count == lanes)
          for (std::int64_t p = 0; p < interleaved; ++p) store(to + p * ldy, rows[p]);
        else
          for (std::int64_t p = 0; p < interleaved; ++p)
            std::memcpy(to + p * ldy, &rows[p], count * 4);
      }
    }
  }

  static void widen(const std::uint16_t* x, std::int64_t ldx, std::int64_t features,
                    std::int64_t tokens, float* y, std::int64_t ldy) {
    if (tokens == 1 && ldx == 2 && ldy == 1) return widen_token(x, features, y);
    for (std::int64_t k = 0; k < features; k += 2, x += ldx) {
      float *even = y + k * ldy, *odd = k + 1 < features ? even + ldy : nullptr;
      std::int64_t t = 0;
      for (; t + lanes <= tokens; t += lanes) {
        const Vec v = row_of(x + 2 * t), e = V::low(v), o = V::high(v);
        std::memcpy(even + t, &e, sizeof e);
        if (odd) std::memcpy(odd + t, &o, sizeof o);
      }
      for (; t < tokens; ++t) {
        even[t] = widen_bf16(x[2 * t]);
        if (odd) odd[t] = widen_bf16(x[2 * t + 1]);
      }
    }
  }

  static void transpose_panel(const float* x, std::int64_t ldx, std::int64_t features,
                              std::int64_t tokens, bool stream, float* y, std::int64_t ldy) {
    stream = stream && reinterpret_cast<std::uintptr_t>(y) % 64 == 0 && ldy % 16 == 0;
    for (std::int64_t t = 0; t < tokens; t += lanes)
      for (std::int64_t k = 0; k < features;) {
        const std::int64_t count = std::min(lanes, tokens - t), rows = features - k;
        const float* from = x + k * ldx + t;
        float* to = y + t * ldy + k;
        if (lanes == 16 && count % 4 == 0 && rows >= 2 * lanes) {
          if constexpr (lanes == 16)
            for (std::int64_t i = 0; i < count; i += 4)
              (stream ? V::template transpose_rows<true>
                      : V::template transpose_rows<false>)(from + i, ldx, to + i * ldy, ldy);
          k += 2 * lanes;
        } else if (count == lanes && rows >= 2 * lanes) {
          // Both halves together: a lone half of a pair of lines takes twice as long to store
          // non-temporally.
          transpose_tiles<2>(from, ldx, stream, to, ldy);
          k += 2 * lanes;
        } else if (count == lanes && rows >= lanes) {
          transpose_tiles<1>(from, ldx, stream, to, ldy);
          k += lanes;
        } else {
          const std::int64_t some = std::min(lanes, rows);
          for (std::int64_t i = 0; i < count; ++i)
            for (std::int64_t r = 0; r < some; ++r) to[i * ldy + r] = from[r * ldx + i];
          k += some;
        }
      }
  }

  static constexpr InterleavedTable table() {
    return {features<float>,
            tokens<float>,
            features<std::uint16_t>,
            tokens<std::uint16_t>,
            panels<float>,
            panels<std::uint16_t>,
            widen,
            transpose_panel};
  }
};

}  // namespace sten::kernels::simd
STEN_TARGET_END
