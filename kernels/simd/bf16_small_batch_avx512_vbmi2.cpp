// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX512_VBMI2
#include "kernels/bf16_small_batch.h"
#include "kernels/simd/bf16_expand.h"
#include "kernels/simd/bf16_small_batch16.h"
#include "kernels/simd/bf16_small_batch_loops.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx512_vbmi2 {
namespace {

struct Bf16SmallBatch : avx512::Bf16SmallBatch16 {
  static const std::uint8_t* expand(const std::uint8_t* from, std::uint16_t* to) {
    return simd::expand_tile(from, to);
  }
};

const std::uint8_t* expand(const Bf16Tiles& a, std::uint16_t* to, std::int64_t stride) {
  const std::uint8_t* from = a.stream;
  for (std::int64_t k = 0; k < a.columns; ++k)
    for (std::int64_t g = 0; g < a.groups; ++g)
      from =
          simd::expand_tile<4>(from, to + g * stride + k * bf16_tile_size, simd::bf16_tiles_ahead);
  return from;
}

}  // namespace
}  // namespace sten::kernels::avx512_vbmi2
STEN_TARGET_END

namespace sten::kernels {

const Bf16SmallBatchTable* bf16_small_batch_avx512_vbmi2() {
  using Loops = simd::Bf16SmallBatchLoops<avx512_vbmi2::Bf16SmallBatch>;
  static constexpr Bf16SmallBatchTable table{
      Loops::prepare_tiles, Loops::multiply_tiles, Loops::prepare_lanes, Loops::multiply_lanes,
      Loops::looks_up,      Loops::widen_tokens,   Loops::widen_strips,  avx512_vbmi2::expand};
  return cpu_runs(STEN_AVX512_VBMI2) ? &table : nullptr;
}

}  // namespace sten::kernels
