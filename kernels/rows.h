// What operators compute of a row of float32, or of several rows that are `stride` apart. Outputs
// may be inputs, element for element; else nothing overlaps. Sums are taken in double, in an order
// that is the ISA's. An ulp is what it is in kernels/functions.h.
#pragma once
#include <cstdint>

#include "kernels/isa.h"

namespace sten::kernels {

// (x - mean - rest) * by has the mean 0 and the deviation 1. In two parts, so that x far from 0
// keeps its digits.
struct RowMoments {
  float mean, rest, by;
};

struct RowsTable {
  // The largest; NaN is passed over, -inf where there is nothing else.
  float (*greatest)(const float* x, std::int64_t n);
  // y = e^(x - most), to 3 ulp of the difference in float32, and its sum; y = nullptr: that alone.
  double (*exp_sum)(const float* x, std::int64_t n, float most, float* y);
  // y = by * x.
  void (*scale)(const float* x, std::int64_t n, float by, float* y);
  // y = softmax(by * x).
  void (*softmax)(const float* x, std::int64_t n, float by, float* y);
  // Of y = softmax(by * x): dx = by * y * (dy - sum(y * dy)).
  void (*softmax_grad)(const float* dy, const float* y, std::int64_t n, float by, float* dx);
  // eps is added to the variance. n > 0.
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
  // Adds all rows to sums[n].
  void (*add_rows)(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t n,
                   double* sums);
};

// The table of active_isa().
const RowsTable& rows();
// nullptr unless has_isa(isa).
const RowsTable* rows_for(Isa isa);

}  // namespace sten::kernels
