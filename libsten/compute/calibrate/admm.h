// SPDX-License-Identifier: Apache-2.0
// ADMM (alternating direction method of multipliers) for the choice of kept weights.
#pragma once
#include "libsten/compute/calibrate/chooser.h"
#include "libsten/compute/calibrate/gram.h"

namespace sten::calibrate {

// Returns the kept elements of w [out, in], whose memory it reuses. Minimizes |V X - W T|^2 over V
// with the structure: alternates between solving for a dense V and projecting the result onto the
// structure, with a penalty for the difference. Inputs are first scaled to equal norms, so that the
// projection keeps the weights that matter to the outputs. Error if the Gram matrix is not positive
// definite. Source: Boza 2024.
template <class T>
Kept choose_by_admm(Matrix<T> w, const Gram<T>& gram, const Chooser& chooser);

}  // namespace sten::calibrate
