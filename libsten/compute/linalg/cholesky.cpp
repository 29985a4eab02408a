// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/linalg/cholesky.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <vector>

#include "libsten/core/base/error.h"

namespace sten {
namespace {

using linalg_detail::LapackOf;

template <class T>
const LapackOf<T>* lapack_of(Index n) {
  const linalg_detail::Lapack* found = n <= INT_MAX ? linalg_detail::lapack() : nullptr;
  if (!found) return nullptr;
  found->use_one_thread();
  if constexpr (sizeof(T) == sizeof(float))
    return &found->single_;
  else
    return &found->double_;
}

template <class T>
bool factor(Index n, T* a) {
  if (n == 0) return true;
  if (const auto* by = lapack_of<T>(n)) {
    const int size = static_cast<int>(n);
    int info = 0;
    by->potrf("U", &size, a, &size, &info);
    return info == 0;
  }
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j <= i; ++j) {
      double sum = a[i * n + j];
      for (Index k = 0; k < j; ++k) sum -= static_cast<double>(a[i * n + k]) * a[j * n + k];
      if (i != j) {
        a[i * n + j] = static_cast<T>(sum / a[j * n + j]);
      } else {
        if (!(sum > 0)) return false;
        a[i * n + i] = static_cast<T>(std::sqrt(sum));
      }
    }
  return true;
}

void solve(Index n, const double* l, double* b) {
  for (Index i = 0; i < n; ++i) {
    double sum = b[i];
    for (Index k = 0; k < i; ++k) sum -= l[i * n + k] * b[k];
    b[i] = sum / l[i * n + i];
  }
  for (Index i = n; i-- > 0;) {
    double sum = b[i];
    for (Index k = i + 1; k < n; ++k) sum -= l[k * n + i] * b[k];
    b[i] = sum / l[i * n + i];
  }
}

template <class T>
bool invert_lower(Index n, T* a) {
  if (n == 0) return true;
  if (const auto* by = lapack_of<T>(n)) {
    const int size = static_cast<int>(n);
    int info = 0;
    by->trtri("U", "N", &size, a, &size, &info);
    return info == 0;
  }
  for (Index j = 0; j < n; ++j) {
    if (a[j * n + j] == 0) return false;
    a[j * n + j] = 1 / a[j * n + j];
    for (Index i = j + 1; i < n; ++i) {
      double sum = 0;
      for (Index k = j; k < i; ++k) sum -= static_cast<double>(a[i * n + k]) * a[k * n + j];
      a[i * n + j] = static_cast<T>(sum / a[i * n + i]);
    }
  }
  return true;
}

}  // namespace

bool factor_cholesky(Index n, double* a) { return factor(n, a); }
bool factor_cholesky(Index n, float* a) { return factor(n, a); }
bool invert_triangle(Index n, float* a) { return invert_lower(n, a); }

bool factor_of_inverse(Index n, double* a) {
  // In reverse order of rows and columns, the factor U with A = U U^T is a lower triangle.
  std::reverse(a, a + n * n);
  if (!factor(n, a) || !invert_lower(n, a)) return false;
  std::reverse(a, a + n * n);
  return true;
}

bool invert_positive(Index n, double* a) {
  if (!factor(n, a)) return false;
  if (n == 0) return true;
  if (const auto* by = lapack_of<double>(n)) {
    const int size = static_cast<int>(n);
    int info = 0;
    by->potri("U", &size, a, &size, &info);
    if (info != 0) return false;
  } else {
    std::vector<double> inverse(n * n, 0.0);
    for (Index i = 0; i < n; ++i) {
      inverse[i * n + i] = 1;
      solve(n, a, inverse.data() + i * n);
    }
    std::copy(inverse.begin(), inverse.end(), a);
  }
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < i; ++j) a[j * n + i] = a[i * n + j];
  return true;
}

void solve_cholesky(Index n, const double* l, Index count, double* b) {
  if (n == 0 || count == 0) return;
  const auto* by = count <= INT_MAX ? lapack_of<double>(n) : nullptr;
  if (!by) {
    for (Index i = 0; i < count; ++i) solve(n, l, b + i * n);
    return;
  }
  const int size = static_cast<int>(n), columns = static_cast<int>(count);
  int info = 0;
  by->potrs("U", &size, &columns, l, &size, b, &size, &info);
  if (info != 0) fail("LAPACK potrs: invalid argument {}", -info);
}

}  // namespace sten
