// Symmetric positive definite matrices: Cholesky factors, what they solve, and inverses. By LAPACK as
// OpenBLAS has it, on the calling thread alone, so that bits do not depend on threads; where that does
// not load, by plain loops. Matrices are row-major and n x n.
#pragma once
#include "libsten/base/shape.h"

namespace sten {

// A = L L^T: the lower triangle of `a` becomes L, of which the upper one keeps what it has. false where
// A is not positive definite; `a` is then of no use.
bool factor_cholesky(Index n, double* a);
bool factor_cholesky(Index n, float* a);

// Solves L L^T x = b for each of `count` rows b of [count, n], which x replaces.
void solve_cholesky(Index n, const double* l, Index count, double* b);

// A becomes its inverse, both triangles. false where A is not positive definite.
bool invert_positive(Index n, float* a);
bool invert_positive(Index n, double* a);

namespace linalg_detail {

// LAPACK's names, of a column-major matrix whose upper triangle ('U') is our lower one; 32-bit sizes.
template <class T>
struct LapackOf {
  void (*potrf)(const char* uplo, const int* n, T* a, const int* lda, int* info) = nullptr;
  void (*potri)(const char* uplo, const int* n, T* a, const int* lda, int* info) = nullptr;
  void (*potrs)(const char* uplo, const int* n, const int* count, const T* a, const int* lda, T* b,
                const int* ldb, int* info) = nullptr;
};
struct Lapack {
  LapackOf<float> single_;
  LapackOf<double> double_;
  void (*use_one_thread)() = nullptr;
};
// nullptr where it does not load, and where STEN_ISA asks for the reference. Loaded once.
const Lapack* lapack();

}  // namespace linalg_detail
}  // namespace sten
