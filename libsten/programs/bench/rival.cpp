// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/bench/rival.h"

#include <cmath>

#include "libsten/core/base/error.h"
#include "libsten/core/base/random.h"

namespace sten {

std::vector<SparseRival>& sparse_rivals() {
  static std::vector<SparseRival> all;
  return all;
}

void check_product(const std::string& name, const float* a, Index m, Index k, Index n, bool linear,
                   const float* in, const float* out) {
  constexpr int samples = 64;
  const auto pick = [&](int i, Index extent) {
    return static_cast<Index>(random_uniform(7, static_cast<std::uint64_t>(i)) *
                              static_cast<double>(extent));
  };
  for (int i = 0; i < samples; ++i) {
    const Index r = pick(2 * i, m), c = pick(2 * i + 1, n);
    double sum = 0, size = 0;
    for (Index p = 0; p < k; ++p) {
      const double term = double{a[r * k + p]} * double{linear ? in[c * k + p] : in[p * n + c]};
      sum += term;
      size += std::abs(term);
    }
    const double got = linear ? out[c * m + r] : out[r * n + c];
    if (!(std::abs(got - sum) <= 1e-4 * size))
      fail("{}: element [{}, {}] of a product is {}, expected {}", name, r, c, got, sum);
  }
}

}  // namespace sten
