// SPDX-License-Identifier: Apache-2.0
// Dense products in the dtypes of computation.
#pragma once
#include <algorithm>
#include <vector>

#include "kernels/reference/gemm.h"
#include "libsten/compute/linalg/dense_gemm.h"

namespace sten {

// C[m,n] = A[m,k] * B[k,n]; transposed factors are stored as their transposes.
inline void gemm(Transpose transposed, Index m, Index n, Index k, const float* a, const float* b,
                 float* c, int team = threads()) {
  const auto product = transposed == Transpose::none ? dense_gemm
                       : transposed == Transpose::a  ? dense_transposed_gemm
                                                     : dense_linear;
  product(m, n, k, a, b, c, team);
}
// By the formula: F64 is for checking.
inline void gemm(Transpose transposed, Index m, Index n, Index k, const double* a, const double* b,
                 double* c, int = 1) {
  std::vector<double> rows;
  if (transposed == Transpose::a) {
    rows.resize(m * k);
    for (Index i = 0; i < m; ++i)
      for (Index p = 0; p < k; ++p) rows[i * k + p] = a[p * m + i];
    a = rows.data();
  }
  kernels::gemm_reference(transposed == Transpose::b, m, n, k, a, b, c);
}

}  // namespace sten
