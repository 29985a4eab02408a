// SPDX-License-Identifier: Apache-2.0
// The loops of kernels/peak.h. Compiled once per ISA, for the includer's STEN_TARGET.
#pragma once
#include "kernels/peak.h"
#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

// V: see floats8.h. An FMA takes 4 cycles and there are 2 units, so at least 8 independent chains.
template <class V, int chains>
struct Peak {
  static double run_fmas(std::int64_t rounds) {
    using Vec = typename V::Vec;
    const Vec factor = V::set(0.999f), term = V::set(0.001f);
    Vec x[chains];
    for (int i = 0; i < chains; ++i) x[i] = V::set(static_cast<float>(i));
    for (std::int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 32
      for (int i = 0; i < chains; ++i) x[i] = V::fma(x[i], factor, term);
    }
    Vec sum = x[0];
    for (int i = 1; i < chains; ++i) sum = V::add(sum, x[i]);
    float out[V::lanes];
    V::store(out, sum);
    volatile float sink = out[0];
    (void)sink;
    return 2.0 * chains * V::lanes * static_cast<double>(rounds);
  }

  static constexpr PeakTable table() { return {run_fmas, run_fmas, run_fmas}; }
};

}  // namespace sten::kernels::simd
STEN_TARGET_END
