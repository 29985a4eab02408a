// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX2
#include "kernels/epilogue.h"
#include "kernels/simd/epilogue_loops.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx2 {
namespace {

struct Own {
  static void stream_line(const float* from, float* to) {
    _mm256_stream_ps(to, _mm256_loadu_ps(from));
    _mm256_stream_ps(to + 8, _mm256_loadu_ps(from + 8));
  }
};

}  // namespace
}  // namespace sten::kernels::avx2
STEN_TARGET_END

namespace sten::kernels {

const EpilogueTable* epilogue_avx2() { return &table_of<simd::Epilogues<avx2::Own>>; }

}  // namespace sten::kernels
