// The reference kernels of kernels/elementwise.h.
#pragma once
#include "kernels/elementwise.h"

namespace sten::kernels {

const ElementwiseTable* elementwise_reference();

}  // namespace sten::kernels
