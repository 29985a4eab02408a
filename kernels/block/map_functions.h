// What a device does element by element, and what moves elements: functions of one and of two
// tensors, sums over axes, pieces and orders of tensors.
// What functions.h says of pointers, streams and bits holds here, too. All elements are floats unless
// said otherwise.
#pragma once
#include "kernels/block/grid.h"

namespace sten::kernels {

struct MapFunctions {};

}  // namespace sten::kernels
