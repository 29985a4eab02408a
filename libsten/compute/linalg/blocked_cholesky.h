// SPDX-License-Identifier: Apache-2.0
// Large Cholesky factors and inverses in blocks, on all threads; results do not depend on their
// number. For cholesky.h.
#pragma once
#include "libsten/core/base/shape.h"

namespace sten::linalg_detail {

// Smaller matrices are factored at once.
inline constexpr Index cholesky_block = 512;

// Factors A = L L^T and replaces the lower triangle of `a`, which has both, by L^-1; the upper one is
// undefined. False, with undefined `a`, if A is not positive definite.
bool invert_factor(Index n, float* a);
// Replaces the lower triangle X by X^T X, both triangles.
void square_factor(Index n, float* a);

}  // namespace sten::linalg_detail
