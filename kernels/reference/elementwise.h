// Obvious loops for kernels/elementwise.h: what the fast ones are tested against.
#pragma once
#include "kernels/elementwise.h"

namespace sten::kernels {

const ElementwiseTable* elementwise_reference();

}  // namespace sten::kernels
