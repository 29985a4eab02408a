// The values that are kept, solved anew.
#pragma once
#include "libsten/calibrate/gram.h"

namespace sten::calibrate {

// For each row w of `dense` [out, in] the v that is 0 where nothing is kept and minimizes
// |v X - w T|^2 + d |v - w|^2, d being what damps the Gram matrix. By Cholesky factors, one for all
// rows that keep the same inputs; by conjugate gradients, all rows of a block at once, where that
// takes less.
Matrix reconstruct(const Matrix& dense, const Kept& kept, const Gram& gram);

// For tests: one of the two for all rows.
Matrix reconstruct_by_factors(const Matrix& dense, const Kept& kept, const Gram& gram);
Matrix reconstruct_by_gradients(const Matrix& dense, const Kept& kept, const Gram& gram);

}  // namespace sten::calibrate
