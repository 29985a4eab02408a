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

// By which they are computed: what UseDenseLibrary says, or else fastest_dense_library().
const DenseLibrary& dense_library();

// By milliseconds of measurement on one thread, once per process: the first of dense_libraries(),
// or another one that takes less than nine tenths of its time, so that chance does not choose
// between two that are as fast as each other. Where there is the own loop alone, although this ISA
// has others, it says so each time (report_fallback).
const DenseLibrary& fastest_dense_library();

// While it lives all dense products of the process are by this library, so that their bits do not
// depend on a measurement. For programs; one after the other, not two at a time.
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
