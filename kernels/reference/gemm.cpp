// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/gemm.h"

#include <algorithm>

namespace sten::kernels {

template <class T>
void gemm_reference(bool transposed, std::int64_t m, std::int64_t n, std::int64_t k, const T* a,
                    const T* b, T* c) {
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      T sum = 0;
      for (std::int64_t p = 0; p < k; ++p)
        sum += a[i * k + p] * (transposed ? b[j * k + p] : b[p * n + j]);
      c[i * n + j] = sum;
    }
}

template <class T>
void gemm_blocked(bool transposed, std::int64_t m, std::int64_t n, std::int64_t k, const T* a,
                  const T* b, T* c) {
  constexpr std::int64_t depth = 64, width = 64;  // 16 KB of float
  T tile[depth * width];
  for (std::int64_t i = 0; i < m; ++i) std::fill_n(c + i * n, n, T(0));
  for (std::int64_t j0 = 0; j0 < n; j0 += width)
    for (std::int64_t p0 = 0; p0 < k; p0 += depth) {
      const std::int64_t cols = std::min(width, n - j0), rows = std::min(depth, k - p0);
      std::fill_n(tile, depth * width, T(0));
      for (std::int64_t p = 0; p < rows; ++p)
        for (std::int64_t j = 0; j < cols; ++j)
          tile[p * width + j] = transposed ? b[(j0 + j) * k + p0 + p] : b[(p0 + p) * n + j0 + j];
      for (std::int64_t i = 0; i < m; ++i) {
        T sum[width] = {};
        for (std::int64_t p = 0; p < rows; ++p) {
          const T v = a[i * k + p0 + p];
          for (std::int64_t j = 0; j < width; ++j) sum[j] += v * tile[p * width + j];
        }
        for (std::int64_t j = 0; j < cols; ++j) c[i * n + j0 + j] += sum[j];
      }
    }
}

template void gemm_reference(bool, std::int64_t, std::int64_t, std::int64_t, const float*,
                             const float*, float*);
template void gemm_reference(bool, std::int64_t, std::int64_t, std::int64_t, const double*,
                             const double*, double*);
template void gemm_blocked(bool, std::int64_t, std::int64_t, std::int64_t, const float*,
                           const float*, float*);

}  // namespace sten::kernels
