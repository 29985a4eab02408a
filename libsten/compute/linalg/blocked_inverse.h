// SPDX-License-Identifier: Apache-2.0
// Inverses of large symmetric positive definite matrices of floats, in blocks on all threads; results
// do not depend on their number. cholesky.h has those of doubles.
#pragma once
#include "libsten/compute/linalg/cholesky.h"

namespace sten {

// Replaces the upper triangle of A, which has both, by R with A^-1 = R^T R; the lower one is
// undefined. Half the products of an inverse that is factored: R is the inverse of U with A = U U^T.
// False, with undefined `a`, if A is not positive definite.
bool factor_inverse(Index n, float* a);

// Replaces A by its inverse, both triangles. False, with undefined `a`, if A is not positive
// definite.
bool invert_positive(Index n, float* a);

}  // namespace sten
