// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX512
#include "kernels/bf16_small_batch.h"
#include "kernels/simd/bf16_rows_loops.h"
#include "kernels/simd/bf16_small_batch16.h"
#include "kernels/simd/bf16_small_batch_loops.h"

namespace sten::kernels {

const Bf16SmallBatchTable* bf16_small_batch_avx512() {
  using Loops = simd::Bf16SmallBatchLoops<avx512::Bf16SmallBatch16>;
  using Rows = simd::Bf16RowsLoops<avx512::Bf16SmallBatch16>;
  static constexpr Bf16SmallBatchTable table{
      Rows::prepare_rows,   Rows::multiply_rows,   nullptr,         nullptr,
      Loops::prepare_lanes, Loops::multiply_lanes, Loops::looks_up, Loops::widen_tokens,
      Loops::widen_strips};
  return &table;
}

}  // namespace sten::kernels
