// Choosing and solving in turns, by the alternating direction method of multipliers.
#pragma once
#include "libsten/calibrate/chooser.h"
#include "libsten/calibrate/gram.h"

namespace sten::calibrate {

// Which elements of w [out, in] stay. Minimizes |V X - W T|^2 over V that have the structure: a step
// solves for V with all elements, the next one projects what came out onto the structure, and the
// difference is held against it. Inputs are scaled to the same norm first, so that the projection
// keeps what matters to the outputs (Boza 2024). Error where the Gram matrix is not positive definite.
template <class T>
Kept choose_by_admm(const Matrix<T>& w, const Gram<T>& gram, const Chooser& chooser);

}  // namespace sten::calibrate
