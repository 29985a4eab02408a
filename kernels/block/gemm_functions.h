// What a device does with products beside functions.h: of turned matrices, in batches, and those of gradients.
// What functions.h says of pointers, streams and bits holds here, too. All elements are floats unless
// said otherwise.
#pragma once
#include "kernels/block/grid.h"

namespace sten::kernels {

struct GemmFunctions {};

}  // namespace sten::kernels
