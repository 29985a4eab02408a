// SPDX-License-Identifier: Apache-2.0
// Inverses of large symmetric positive definite matrices of floats, in blocks on all threads. Results
// do not depend on the number of threads.
#pragma once
#include "libsten/compute/linalg/cholesky.h"

namespace sten {

// As the functions for doubles; A has both triangles.
bool factor_of_inverse(Index n, float* a);
bool invert_positive(Index n, float* a);

}  // namespace sten
