// SPDX-License-Identifier: Apache-2.0
// Products with Gram matrices and with the columns of matrices, row-major float32.
#pragma once
#include "libsten/core/base/shape.h"

namespace sten {

// Adds A^T B to C [m,n] by dense_library() on the calling thread, for blocks A [k,m] and B [k,n] of
// the columns of matrices. Rows of A, B and C are lda, ldb and ldc floats apart.
void add_transposed_product(Index m, Index n, Index k, const float* a, Index lda, const float* b,
                            Index ldb, float* c, Index ldc);

// Copies the elements above the diagonal of C [n,n] to those below it.
void mirror_gram(Index n, float* c);

// Returns tr(A G A^T) for A [rows,n] and a symmetric G [n,n], summed in double. Takes half the
// products of A G, by dense_library().
double quadratic_trace(Index rows, Index n, const float* a, const float* gram);

}  // namespace sten
