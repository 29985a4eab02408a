// SPDX-License-Identifier: Apache-2.0
// Cholesky factors, solutions and inverses of symmetric positive definite matrices, row-major [n,
// n]. By OpenBLAS's LAPACK on the calling thread, so that results do not depend on threads; by
// plain loops if OpenBLAS does not load.
#pragma once
#include "libsten/core/base/shape.h"

namespace sten {

// Factors A = L L^T: replaces the lower triangle of `a` by L and leaves the upper one. False, with
// undefined `a`, if A is not positive definite.
bool factor_cholesky(Index n, double* a);
bool factor_cholesky(Index n, float* a);

// Replaces the lower triangle L of `a` by L^-1 and leaves the upper one. False if L is singular.
bool invert_triangle(Index n, float* a);

// Solves L L^T x = b for each row of b [count, n]; replaces b by x.
void solve_cholesky(Index n, const double* l, Index count, double* b);

// Replaces the upper triangle of A, which has both triangles, by the upper triangular R with
// A^-1 = R^T R; the lower triangle of `a` is undefined. Half the products of an inverse that is
// factored: R is the inverse of U with A = U U^T. False, with undefined `a`, if A is not positive
// definite. blocked_inverse.h has both functions for floats.
bool factor_of_inverse(Index n, double* a);
// Replaces A by its inverse, both triangles. False, with undefined `a`, if A is not positive
// definite.
bool invert_positive(Index n, double* a);

namespace linalg_detail {

// LAPACK functions, for column-major matrices, whose upper triangle ('U') is our lower one; 32-bit
// sizes.
template <class T>
struct LapackOf {
  void (*potrf)(const char* uplo, const int* n, T* a, const int* lda, int* info) = nullptr;
  void (*potri)(const char* uplo, const int* n, T* a, const int* lda, int* info) = nullptr;
  void (*trtri)(const char* uplo, const char* diagonal, const int* n, T* a, const int* lda,
                int* info) = nullptr;
  void (*potrs)(const char* uplo, const int* n, const int* count, const T* a, const int* lda, T* b,
                const int* ldb, int* info) = nullptr;
};
struct Lapack {
  LapackOf<float> single_;
  LapackOf<double> double_;
  void (*use_one_thread)() = nullptr;
};
// The functions, loaded once; nullptr if they do not load or STEN_ISA selects the reference.
const Lapack* lapack();

}  // namespace linalg_detail
}  // namespace sten
