// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX2
#include "kernels/nmg_gemm.h"
#include "kernels/simd/floats8.h"
#include "kernels/simd/nmg_gemm_loops.h"

namespace sten::kernels::avx2 {
namespace {

template <int width>
struct Lanes : simd::Floats8 {
  static constexpr int panel = width;
  static constexpr int part = 4, most = 2;                                 // sorted by pattern
  static constexpr int whole_part = 2, most_whole = simd::nmg_most_whole;  // interleaved
  static constexpr int most_ones = 3;
  static constexpr int pair_vectors = 2, max_block_pair_m = 2;
};

template <int width>
using Blocks = simd::NmgBlocks<Lanes<width>>;
constexpr NmgGemmTable table{
    {Blocks<8>::run, Blocks<16>::run, Blocks<32>::run, Blocks<panel_width>::run},
    Blocks<panel_width>::groups,
    Blocks<panel_width>::supports_block_pairs};

}  // namespace
}  // namespace sten::kernels::avx2

namespace sten::kernels {

const NmgGemmTable* nmg_gemm_avx2() { return &avx2::table; }

}  // namespace sten::kernels
