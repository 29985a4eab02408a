// The reference kernels of kernels/interleaved.h.
#pragma once
#include "kernels/interleaved.h"

namespace sten::kernels {

const InterleavedTable* interleaved_reference();

}  // namespace sten::kernels
