#define STEN_TARGET "avx2,fma,bmi,bmi2,f16c,popcnt,avx512f,avx512cd,avx512bw,avx512dq,avx512vl"
#include <immintrin.h>

#include "kernels/simd/nmg_gemm.h"
#include "kernels/simd/nmg_gemm_loops.h"

STEN_TARGET_BEGIN
namespace sten::kernels::avx512 {
namespace {

template <int width>
struct Lanes {
  static constexpr int panel = width;
  using Vec = __m512;
  static constexpr int lanes = 16;
  static constexpr int part = 4, most = 6;                                 // sorted by pattern
  static constexpr int whole_part = 4, most_whole = simd::nmg_most_whole;  // interleaved
  static constexpr int most_ones = 5;

  static Vec zero() { return _mm512_setzero_ps(); }
  static Vec load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, Vec v) { _mm512_storeu_ps(p, v); }
  static Vec one(const float* p) { return _mm512_set1_ps(*p); }
  static Vec add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
  static Vec fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
  static Vec four(const float* p) { return _mm512_broadcast_f32x4(_mm_loadu_ps(p)); }
  template <int i>
  static Vec pick(Vec v) {
    return _mm512_permute_ps(v, i * 0x55);
  }
};

// Half a vector; loads of it are faster too.
struct Half {
  static constexpr int panel = 8;
  using Vec = __m256;
  static constexpr int lanes = 8;
  static constexpr int part = 1, most = 6;
  static constexpr int whole_part = 1, most_whole = simd::nmg_most_whole;
  static constexpr int most_ones = 5;

  static Vec zero() { return _mm256_setzero_ps(); }
  static Vec load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, Vec v) { _mm256_storeu_ps(p, v); }
  static Vec one(const float* p) { return _mm256_set1_ps(*p); }
  static Vec add(Vec a, Vec b) { return _mm256_add_ps(a, b); }
  static Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
  static Vec four(const float* p) {
    return _mm256_broadcast_ps(reinterpret_cast<const __m128*>(p));
  }
  template <int i>
  static Vec pick(Vec v) {
    return _mm256_permute_ps(v, i * 0x55);
  }
};

template <int width>
using Blocks = simd::NmgBlocks<Lanes<width>>;
constexpr NmgGemmTable table{
    {simd::NmgBlocks<Half>::run, Blocks<16>::run, Blocks<32>::run, Blocks<panel_width>::run},
    Blocks<panel_width>::groups};

}  // namespace
}  // namespace sten::kernels::avx512
STEN_TARGET_END

namespace sten::kernels {

const NmgGemmTable* nmg_gemm_avx512() { return &avx512::table; }

}  // namespace sten::kernels
