// SPDX-License-Identifier: Apache-2.0
// Products in double, and bounds for the rounding errors of float32.
#pragma once
#include <cmath>
#include <vector>

#include "kernels/reference/gemm.h"
#include "libsten/core/tensor/dense.h"

namespace sten::testing {

inline std::vector<double> wide(const Dense& x, bool magnitudes) {
  std::vector<double> v;
  for (const float f : x.values.as<float>()) v.push_back(magnitudes ? std::abs(f) : f);
  return v;
}

// A [m, k] times `in`, which is an input of linear() or of matmul().
inline std::vector<double> formula(bool linear, const Dense& a, const Dense& in, Index n,
                                   bool magnitudes) {
  const Index m = a.extents[0], k = a.extents[1];
  std::vector<double> out(m * n);
  const auto x = wide(a, magnitudes), y = wide(in, magnitudes);
  if (linear)
    kernels::gemm_reference(true, n, m, k, y.data(), x.data(), out.data());
  else
    kernels::gemm_reference(false, m, n, k, x.data(), y.data(), out.data());
  return out;
}

struct Bounds {
  std::vector<double> wanted, most;  // the product, and the maximum error

  Index violations(const std::vector<float>& got) const {
    Index wrong = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      wrong += !(std::abs(got[i] - wanted[i]) <= most[i]);
    return wrong;
  }
};

// Bounds of the same product: |C - C64| <= 2^-23 (nonzeros of the row + 8) (|A| |B|).
inline Bounds product_bounds(bool linear, const Dense& a, const Dense& in, Index n) {
  const Index m = a.extents[0], k = a.extents[1];
  Bounds bounds{formula(linear, a, in, n, false), formula(linear, a, in, n, true)};
  std::vector<double> nonzeros(m);
  for (Index i = 0; i < m * k; ++i) nonzeros[i / k] += a.values.as<float>()[i] != 0;
  for (Index i = 0; i < m * n; ++i)
    bounds.most[i] *= std::ldexp(nonzeros[linear ? i % m : i / n] + 8, -23);
  return bounds;
}

// Bounds of dy [m, n] * x [k, n]^T, whose elements are sums of n products.
inline Bounds sampled_bounds(const Dense& dy, const Dense& x) {
  const Index m = dy.extents[0], k = x.extents[0], n = dy.extents[1];
  const auto product = [&](bool magnitudes) {
    std::vector<double> out(m * k);
    const auto a = wide(dy, magnitudes), b = wide(x, magnitudes);
    kernels::gemm_reference(true, m, k, n, a.data(), b.data(), out.data());
    return out;
  };
  Bounds bounds{product(false), product(true)};
  for (double& most : bounds.most) most *= std::ldexp(static_cast<double>(n) + 8, -23);
  return bounds;
}

}  // namespace sten::testing
