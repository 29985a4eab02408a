// StepFunctions (step_functions.h) over a Grid.
#pragma once
#include "kernels/block/step_functions.h"

namespace sten::kernels {

template <class Grid>
StepFunctions step_functions() {
  return {};
}

}  // namespace sten::kernels
