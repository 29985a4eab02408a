// MapFunctions (map_functions.h) over a Grid.
#pragma once
#include "kernels/block/map_functions.h"

namespace sten::kernels {

template <class Grid>
MapFunctions map_functions() {
  return {};
}

}  // namespace sten::kernels
