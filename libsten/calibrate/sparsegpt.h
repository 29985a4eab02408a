// SparseGPT: Frantar, Alistarh, "Massive language models can be accurately pruned in one-shot" (2023).
#pragma once
#include "libsten/calibrate/chooser.h"
#include "libsten/calibrate/gram.h"

namespace sten::calibrate {

// Goes over the columns of w [out, in] from the left. What is removed of a column changes what is to
// the right of it, so that the outputs change least. Each 128 columns, or each of a structure's groups
// of columns, are chosen at once when they are reached, by w^2 / U_jj^2, where U^T U is the inverse of
// the Gram matrix. w becomes what is left. Error where the Gram matrix is not positive definite.
template <class T>
Kept prune_by_sparsegpt(Matrix<T>& w, const Gram<T>& gram, const Chooser& chooser);

}  // namespace sten::calibrate
