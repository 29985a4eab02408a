// SPDX-License-Identifier: Apache-2.0
// Sums of products of the columns of matrices, row-major float32, by dense_library().
#pragma once
#include "libsten/core/base/shape.h"

namespace sten {

// Adds A^T B to C [m,n] on the calling thread, for blocks A [k,m] and B [k,n] of the columns of
// matrices. Rows of A, B and C are lda, ldb and ldc floats apart.
void add_transposed_product(Index m, Index n, Index k, const float* a, Index lda, const float* b,
                            Index ldb, float* c, Index ldc);

// Adds A^T B to C [n,n], for A and B [rows,n]. Results do not depend on the number of threads.
void add_cross_product(Index rows, Index n, const float* a, const float* b, float* c);

// Adds the blocks of A^T A that have elements on or above the diagonal to C [n,n]; once all sums
// are made, mirror_gram() writes the elements below the diagonal.
void add_gram(Index rows, Index n, const float* a, float* c);
void mirror_gram(Index n, float* c);

// Returns tr(A G A^T) for A [rows,n] and a symmetric G [n,n], summed in double. Half the products of
// A G.
double quadratic_trace(Index rows, Index n, const float* a, const float* gram);

}  // namespace sten
