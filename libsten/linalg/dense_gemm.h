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

// The one that all use. Chosen once per process, by milliseconds of measurement on one thread.
const DenseLibrary& fastest_dense_library();
// From now on the first of dense_libraries() is used in its place: the bits of products are then
// those of any other process on this machine, which a measurement might have led elsewhere.
void take_first_dense_library();

}  // namespace sten
