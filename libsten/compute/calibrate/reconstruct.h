// SPDX-License-Identifier: Apache-2.0
// Reconstruction: solves the kept values again by least squares.
#pragma once
#include "libsten/compute/calibrate/gram.h"

namespace sten::calibrate {

// For each row w of `dense` [out, in], returns v, 0 at pruned elements, with a small |v X - w T|^2
// + d |v - w|^2, where d is the damping of the Gram matrix. Cholesky factors, shared by rows with
// the same kept inputs, find the minimum. If conjugate gradients need fewer operations, they are
// used instead, for blocks of rows: they start at the kept values of w and take at most 10 steps.
template <class T>
Matrix<T> reconstruct(const Matrix<T>& dense, const Kept& kept, const Gram<T>& gram);

// The two algorithms for all rows, for tests.
template <class T>
Matrix<T> reconstruct_by_factors(const Matrix<T>& dense, const Kept& kept, const Gram<T>& gram);
template <class T>
Matrix<T> reconstruct_by_gradients(const Matrix<T>& dense, const Kept& kept, const Gram<T>& gram);

}  // namespace sten::calibrate
