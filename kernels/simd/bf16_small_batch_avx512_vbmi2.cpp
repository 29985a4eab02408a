// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX512_VBMI2
#include "kernels/bf16_small_batch.h"
#include "kernels/simd/bf16_expand.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx512_vbmi2 {
namespace {

// Prefetch distance in bytes of the stream, which is read once.
constexpr std::int64_t ahead = 3072;

const std::uint8_t* expand(const Bf16Tiles& a, std::uint16_t* to, std::int64_t stride) {
  const std::uint8_t* from = a.stream;
  for (std::int64_t k = 0; k < a.columns; ++k)
    for (std::int64_t g = 0; g < a.groups; ++g)
      from = simd::expand_tile<4>(from, to + g * stride + k * bf16_tile_size, ahead);
  return from;
}

}  // namespace
}  // namespace sten::kernels::avx512_vbmi2
STEN_TARGET_END

namespace sten::kernels {

const Bf16SmallBatchTable* bf16_small_batch_avx512_vbmi2() {
  static constexpr Bf16SmallBatchTable table{
      nullptr, nullptr, nullptr, nullptr, nullptr,
      nullptr, nullptr, nullptr, nullptr, avx512_vbmi2::expand};
  return cpu_runs(STEN_AVX512_VBMI2) ? &table : nullptr;
}

}  // namespace sten::kernels
