// SPDX-License-Identifier: Apache-2.0
#include "kernels/interleaved_panels.h"

#include <cmath>

#include "kernels/interleaved.h"

namespace sten::kernels {
namespace {

template <std::int64_t lanes>
struct InterleavedReference {
  using Size = std::int64_t;

  static Size at(Size feature, Size token) {
    return (feature / 2 * lanes + token) * 2 + feature % 2;
  }
  // y[feature, token] = f(feature, token).
  template <class F>
  static void each(Size n, std::uint16_t* y, F&& f) {
    for (Size r = 0; r < n + n % 2; ++r)
      for (Size t = 0; t < lanes; ++t) y[at(r, t)] = r < n ? round_to_bf16(f(r, t)) : 0;
  }

  static void normalize(const std::uint16_t* x, Size n, float eps, const float* gamma,
                        const float* beta, std::uint16_t* y) {
    double mean[lanes] = {}, by[lanes] = {};
    for (Size t = 0; t < lanes; ++t) {
      for (Size r = 0; r < n; ++r) mean[t] += widen_bf16(x[at(r, t)]) / static_cast<double>(n);
      for (Size r = 0; r < n; ++r) by[t] += std::pow(widen_bf16(x[at(r, t)]) - mean[t], 2);
      by[t] = 1 / std::sqrt(by[t] / static_cast<double>(n) + eps);
    }
    each(n, y, [&](Size r, Size t) {
      const double z = (widen_bf16(x[at(r, t)]) - mean[t]) * by[t];
      return static_cast<float>(z * gamma[r] + beta[r]);
    });
  }
  static void multiply(const float* a, Size lda, Size rows, const std::uint16_t* x, Size first,
                       Size depth, float* c) {
    for (Size r = 0; r < rows; ++r)
      for (Size t = 0; t < lanes; ++t) {
        float sum = 0;
        for (Size k = 0; k < depth; ++k) sum += a[r * lda + k] * widen_bf16(x[at(first + k, t)]);
        c[r * lanes + t] = sum;
      }
  }
  static constexpr InterleavedPanelsTable table{normalize, multiply};
};

}  // namespace

const InterleavedPanelsTable* interleaved_panels_reference(std::int64_t lanes) {
  return lanes == narrow_panel_width ? &InterleavedReference<narrow_panel_width>::table
                                     : &InterleavedReference<panel_width>::table;
}

}  // namespace sten::kernels
