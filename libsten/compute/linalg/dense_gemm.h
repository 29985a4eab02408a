// SPDX-License-Identifier: Apache-2.0
// Products of dense matrices, row-major float32, by the fastest library on this machine.
#pragma once
#include "libsten/compute/linalg/dense_library.h"
#include "libsten/core/base/parallel.h"

namespace sten {

// Computes C[m,n] = A[m,k] * B[k,n]. Extents may be 0; C must not overlap A or B.
void dense_gemm(Index m, Index n, Index k, const float* a, const float* b, float* c,
                int team = threads());

// Computes Y[n,m] = X[n,k] * A[m,k]^T: a linear layer on n tokens.
void dense_linear(Index n, Index m, Index k, const float* x, const float* a, float* y,
                  int team = threads());

// Computes C[m,n] = A[k,m]^T * B[k,n]: gradients of weights.
void dense_transposed_gemm(Index m, Index n, Index k, const float* a, const float* b, float* c,
                           int team = threads());

// Computes y[m] = A[m,k] * x[k] by a kernel of sten, since no library reaches the memory bandwidth.
// dense_linear() of one token may have other bits: rows of its result are the same in every batch.
void dense_vector_product(Index m, Index k, const float* a, const float* x, float* y,
                          int team = threads());

// The library in use: that of UseDenseLibrary, else fastest_dense_library().
const DenseLibrary& dense_library();

// Measured once per process, in milliseconds on one thread: the first of dense_libraries(), or
// another one that takes less than 9/10 of its time in three measurements, so that chance does not
// choose between libraries of equal speed. Reports a fallback if only the built-in loop is
// available, unless STEN_ISA selects the reference.
const DenseLibrary& fastest_dense_library();

// While an object lives, all dense products of the process but those of vectors use this library,
// so that results do not depend on a measurement. For programs. Scopes may nest but not overlap
// otherwise.
class UseDenseLibrary {
 public:
  explicit UseDenseLibrary(const DenseLibrary& library);
  ~UseDenseLibrary();
  UseDenseLibrary(const UseDenseLibrary&) = delete;
  UseDenseLibrary& operator=(const UseDenseLibrary&) = delete;

 private:
  const DenseLibrary* before_;
};

}  // namespace sten
