// The reference kernels of kernels/tiles.h.
#pragma once
#include "kernels/tiles.h"

namespace sten::kernels {

const TilesTable* tiles_reference();

}  // namespace sten::kernels
