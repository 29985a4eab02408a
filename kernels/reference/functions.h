// The reference kernels of kernels/functions.h.
#pragma once
#include "kernels/functions.h"

namespace sten::kernels {

const FunctionsTable* functions_reference();

}  // namespace sten::kernels
