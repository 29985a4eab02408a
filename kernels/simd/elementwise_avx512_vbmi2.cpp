// SPDX-License-Identifier: Apache-2.0
// Compress and expand of 1- and 2-byte elements with AVX-512 VBMI2.
#define STEN_TARGET STEN_AVX512_VBMI2
#include <immintrin.h>

#include "kernels/elementwise.h"
#include "kernels/simd/elementwise_loops.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx512 {
namespace {

using simd::Word;

struct Narrow {
  static void compress(const std::uint8_t* x, Word word, std::uint8_t* out) {
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi8(word, _mm512_loadu_si512(x)));
  }
  static void compress(const std::uint16_t* x, Word word, std::uint16_t* out) {
    for (int i = 0; i < 64; i += 32) {
      const auto m = static_cast<__mmask32>(word >> i);
      _mm512_storeu_si512(out, _mm512_maskz_compress_epi16(m, _mm512_loadu_si512(x + i)));
      out += std::popcount(m);
    }
  }

  static void expand(const std::uint8_t* x, Word word, std::uint8_t* out) {
    _mm512_storeu_si512(out, _mm512_maskz_expand_epi8(word, _mm512_loadu_si512(x)));
  }
  static void expand(const std::uint16_t* x, Word word, std::uint16_t* out) {
    for (int i = 0; i < 64; i += 32) {
      const auto m = static_cast<__mmask32>(word >> i);
      _mm512_storeu_si512(out + i, _mm512_maskz_expand_epi16(m, _mm512_loadu_si512(x)));
      x += std::popcount(m);
    }
  }
};

}  // namespace
}  // namespace sten::kernels::avx512
STEN_TARGET_END

namespace sten::kernels {

const ElementwiseTable* elementwise_avx512_vbmi2() {
  static constexpr ElementwiseTable table = [] {
    using Loops = simd::Loops<avx512::Narrow>;
    ElementwiseTable own{};
    own.w1.compress = Loops::compress<std::uint8_t>;
    own.w1.expand = Loops::expand<std::uint8_t>;
    own.w2.compress = Loops::compress<std::uint16_t>;
    own.w2.expand = Loops::expand<std::uint16_t>;
    return own;
  }();
  return cpu_runs(STEN_AVX512_VBMI2) ? &table : nullptr;
}

}  // namespace sten::kernels
