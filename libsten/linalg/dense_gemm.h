// Products of dense matrices, row-major float32, by whatever is fastest on this machine.
#pragma once
#include "libsten/base/parallel.h"
#include "libsten/linalg/dense_library.h"

namespace sten {

// C[m,n] = A[m,k] * B[k,n]. Any extents, 0 too; C may not overlap A or B.
void dense_gemm(Index m, Index n, Index k, const float* a, const float* b, float* c,
                int team = threads());

// Y[n,m] = X[n,k] * A[m,k]^T: a linear layer's forward pass over n tokens.
void dense_linear(Index n, Index m, Index k, const float* x, const float* a, float* y,
                  int team = threads());

// C[m,n] = A[k,m]^T * B[k,n]: how weights get their gradients.
void dense_transposed_gemm(Index m, Index n, Index k, const float* a, const float* b, float* c,
                           int team = threads());

// The library that computes them: what UseDenseLibrary says, or else fastest_dense_library().
const DenseLibrary& dense_library();

// Measured once per process, for milliseconds on one thread: the first of dense_libraries(), or
// another one that takes less than nine tenths of its time, three times over, so that chance does not
// choose between two libraries of the same speed. Reports a fallback each time where only the own loop is there,
// unless STEN_ISA asked for the reference ISA.
const DenseLibrary& fastest_dense_library();

// While it lives, this library computes all dense products of the process, so that their bits do
// not depend on a measurement. For programs. Scopes may nest but not overlap.
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
