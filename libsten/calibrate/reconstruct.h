// The values that are kept, solved anew.
#pragma once
#include "libsten/calibrate/gram.h"

namespace sten::calibrate {

// For each row w of `dense` [out, in] the v that is 0 where nothing is kept and minimizes
// |v X - w T|^2 + d |v - w|^2, d being what damps the Gram matrix. By Cholesky factors, one for all
// rows that keep the same inputs; by conjugate gradients, all rows of a block at once, where that
// takes less.
template <class T>
Matrix<T> reconstruct(const Matrix<T>& dense, const Kept& kept, const Gram<T>& gram);

// For tests: one of the two for all rows.
template <class T>
Matrix<T> reconstruct_by_factors(const Matrix<T>& dense, const Kept& kept, const Gram<T>& gram);
template <class T>
Matrix<T> reconstruct_by_gradients(const Matrix<T>& dense, const Kept& kept, const Gram<T>& gram);

}  // namespace sten::calibrate
