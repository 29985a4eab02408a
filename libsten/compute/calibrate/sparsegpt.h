// SPDX-License-Identifier: Apache-2.0
// SparseGPT: Frantar, Alistarh, "Massive language models can be accurately pruned in one-shot"
// (2023).
#pragma once
#include "libsten/compute/calibrate/chooser.h"
#include "libsten/compute/calibrate/gram.h"

namespace sten::calibrate {

// Prunes the columns of w [out, in] from left to right. Pruning a column updates the columns to its
// right such that the outputs change least. Selects 128 columns at a time, or a structure's groups
// of columns, by w^2 / U_jj^2, where U^T U is the inverse of the Gram matrix. With a cross matrix,
// starts from the unpruned weights whose outputs are closest to those of the dense model (the
// objective of Li, Yin, Lee, Xiao, Panda, "GPTAQ", 2025). Replaces w by the result and returns the
// kept elements. Error if the Gram matrix is not positive definite.
template <class T>
Kept prune_by_sparsegpt(Matrix<T>& w, const Gram<T>& gram, const Chooser& chooser);

}  // namespace sten::calibrate
