// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX512
#include "kernels/epilogue.h"
#include "kernels/simd/epilogue_loops.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx512 {
namespace {

struct Own {
  static void stream_line(const float* from, float* to) {
    _mm512_stream_ps(to, _mm512_loadu_ps(from));
  }
};

}  // namespace
}  // namespace sten::kernels::avx512
STEN_TARGET_END

namespace sten::kernels {

const EpilogueTable* epilogue_avx512() { return &table_of<simd::Epilogues<avx512::Own>>; }

}  // namespace sten::kernels
