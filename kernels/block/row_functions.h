// What a device does row by row: softmax, layer norm, losses, rows by number, attention.
// What functions.h says of pointers, streams and bits holds here, too. All elements are floats unless
// said otherwise.
#pragma once
#include "kernels/block/grid.h"

namespace sten::kernels {

struct RowFunctions {};

}  // namespace sten::kernels
