// SPDX-License-Identifier: Apache-2.0
// Rows for more than a few tokens: one instruction multiplies and adds pairs of features.
#define STEN_TARGET STEN_AVX512_BF16
#include "kernels/bf16_small_batch.h"
#include "kernels/simd/bf16_rows_loops.h"
#include "kernels/simd/bf16_small_batch16.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx512_bf16 {
namespace {

template <class To, class From>
To words_as(From v) {
  To to;
  static_assert(sizeof to == sizeof v);
  __builtin_memcpy(&to, &v, sizeof v);
  return to;
}

struct SmallBatchDots8 : simd::Bf16Interleaved8 {
  static Vec dot(Vec sum, Words x, Words pair) {
    return _mm256_dpbf16_ps(sum, words_as<__m256bh>(x), words_as<__m256bh>(pair));
  }
};
struct SmallBatchDots : avx512::Bf16SmallBatch16 {
  using Eight = SmallBatchDots8;
  static constexpr bool has_dot = true;
  static Vec dot(Vec sum, Words x, Words pair) {
    return _mm512_dpbf16_ps(sum, words_as<__m512bh>(x), words_as<__m512bh>(pair));
  }
};

}  // namespace
}  // namespace sten::kernels::avx512_bf16
STEN_TARGET_END

namespace sten::kernels {

const Bf16SmallBatchTable* bf16_small_batch_avx512_bf16() {
  using Rows = simd::Bf16RowsLoops<avx512_bf16::SmallBatchDots>;
  static constexpr Bf16SmallBatchTable table{Rows::prepare_rows,
                                             Rows::multiply_rows,
                                             nullptr,
                                             nullptr,
                                             nullptr,
                                             nullptr,
                                             nullptr,
                                             nullptr,
                                             nullptr};
  return &table;
}

}  // namespace sten::kernels
