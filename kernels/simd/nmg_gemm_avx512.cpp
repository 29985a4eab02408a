// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX512
#include "kernels/nmg_gemm.h"
#include "kernels/simd/floats16.h"
#include "kernels/simd/floats8.h"
#include "kernels/simd/nmg_gemm_loops.h"

namespace sten::kernels::avx512 {
namespace {

template <int width>
struct Lanes : simd::Floats16 {
  static constexpr int panel = width;
  static constexpr int part = 4, most = 6;                                 // sorted by pattern
  static constexpr int whole_part = 4, most_whole = simd::nmg_most_whole;  // interleaved
  static constexpr int most_ones = 5;
  static constexpr int pair_vectors = 4, max_block_pair_m = 5;
};

// Half a vector, which is faster to load too.
struct Half : simd::Floats8 {
  static constexpr int panel = 8;
  static constexpr int part = 1, most = 6;
  static constexpr int whole_part = 1, most_whole = simd::nmg_most_whole;
  static constexpr int most_ones = 5;
  static constexpr int pair_vectors = 1, max_block_pair_m = 5;
};

template <int width>
using Blocks = simd::NmgBlocks<Lanes<width>>;
constexpr NmgGemmTable table{
    {simd::NmgBlocks<Half>::run, Blocks<16>::run, Blocks<32>::run, Blocks<panel_width>::run},
    Blocks<panel_width>::groups,
    Blocks<panel_width>::supports_block_pairs};

}  // namespace
}  // namespace sten::kernels::avx512

namespace sten::kernels {

const NmgGemmTable* nmg_gemm_avx512() { return &avx512::table; }

}  // namespace sten::kernels
