#include "kernels/peak.h"

#include "kernels/simd/peak.h"

namespace sten::kernels {
namespace {

// Whatever the compiler makes of it for any CPU.
double run_fmas_reference(std::int64_t rounds) {
  constexpr int lanes = 32;
  float x[lanes];
  for (int i = 0; i < lanes; ++i) x[i] = static_cast<float>(i);
  for (std::int64_t r = 0; r < rounds; ++r)
    for (float& v : x) v = v * 0.999f + 0.001f;
  volatile float sink = 0;
  for (const float v : x) sink = sink + v;
  return 2.0 * lanes * static_cast<double>(rounds);
}

}  // namespace

double run_fmas(Isa isa, std::int64_t rounds) {
  switch (isa) {
    case Isa::avx2:
      return run_fmas_avx2(rounds);
    case Isa::avx512:
      return run_fmas_avx512(rounds);
    default:
      return run_fmas_reference(rounds);
  }
}

}  // namespace sten::kernels
