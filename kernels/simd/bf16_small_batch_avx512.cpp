// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX512
#include "kernels/bf16_small_batch.h"
#include "kernels/families.h"
#include "kernels/simd/bf16_small_batch16.h"
#include "kernels/simd/bf16_small_batch_loops.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx512 {
namespace {

// Without VBMI2 words cannot be expanded, so values are copied one by one.
struct Bf16SmallBatchScalar : Bf16SmallBatch16 {
  static const std::uint8_t* expand(const std::uint8_t* from, std::uint16_t* to) {
    return bf16_small_batch_reference()->expand({from, 1, 1, true}, to, 0);
  }
};

}  // namespace
}  // namespace sten::kernels::avx512
STEN_TARGET_END

namespace sten::kernels {

const Bf16SmallBatchTable* bf16_small_batch_avx512() {
  using Loops = simd::Bf16SmallBatchLoops<avx512::Bf16SmallBatchScalar>;
  static constexpr Bf16SmallBatchTable table{
      Loops::prepare_tiles, Loops::multiply_tiles, Loops::prepare_lanes, Loops::multiply_lanes,
      Loops::looks_up,      Loops::widen_tokens,   Loops::widen_strips,  nullptr};
  return &table;
}

}  // namespace sten::kernels
