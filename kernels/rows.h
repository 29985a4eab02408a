// SPDX-License-Identifier: Apache-2.0
// Softmax, layer normalization, sums and products along rows of float32; several rows are `stride`
// elements apart. An output can be an input; other arguments do not overlap. Sums are accumulated in double,
// in an order that depends on the ISA. kernels/functions.h defines ulp.
#pragma once
#include <cstdint>

#include "kernels/isa.h"

namespace sten::kernels {

// (x - mean - rest) * by has mean 0 and deviation 1. The mean has two parts so that x far from 0
// keeps its precision.
struct RowMoments {
  float mean, rest, by;
};

struct RowsTable {
  // The maximum; NaN is ignored, and -inf is the result without another value.
  float (*greatest)(const float* x, std::int64_t n);
  // y = e^(x - most), error at most 3 ulp for the difference in float32; returns the sum. y =
  // nullptr: only the sum.
  double (*exp_sum)(const float* x, std::int64_t n, float most, float* y);
  // y = by * x.
  void (*scale)(const float* x, std::int64_t n, float by, float* y);
  // y = softmax(by * x).
  void (*softmax)(const float* x, std::int64_t n, float by, float* y);
  // For y = softmax(by * x): dx = by * y * (dy - sum(y * dy)).
  void (*softmax_grad)(const float* dy, const float* y, std::int64_t n, float by, float* dx);
  // Moments of x[n], n > 0. eps is added to the variance.
  RowMoments (*moments)(const float* x, std::int64_t n, double eps);
  // y = gamma * z + beta with z = (x - mean - rest) * by.
  void (*normalize)(const RowMoments& s, const float* x, std::int64_t n, const float* gamma,
                    const float* beta, float* y);
  // With g = dy * gamma: dx = by * (g - mean(g) - z * mean(g * z)).
  void (*normalize_grad)(const RowMoments& s, const float* dy, const float* x, std::int64_t n,
                         const float* gamma, float* dx);
  // Adds dy * z to gamma[n] and dy to beta[n].
  void (*add_normalized)(const RowMoments& s, const float* dy, const float* x, std::int64_t n,
                         double* gamma, double* beta);
  // Adds all rows [rows, n] to sums[n].
  void (*add_rows)(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t n,
                   double* sums);
  // y = A x for A [rows, n]. Partial sums are float32. A row's result does not depend on the number
  // of rows.
  void (*multiply_vector)(const float* a, std::int64_t rows, std::int64_t n, const float* x,
                          float* y);
};

// The table for active_isa().
const RowsTable& rows();
// nullptr unless has_isa(isa).
const RowsTable* rows_for(Isa isa);

}  // namespace sten::kernels
