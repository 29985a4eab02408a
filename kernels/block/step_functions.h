// What a device does in a step of training beside gradients: optimizers, masks and norms.
// What functions.h says of pointers, streams and bits holds here, too. All elements are floats unless
// said otherwise.
#pragma once
#include "kernels/block/grid.h"

namespace sten::kernels {

struct StepFunctions {};

}  // namespace sten::kernels
