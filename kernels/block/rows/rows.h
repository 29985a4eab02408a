// RowFunctions (row_functions.h) over a Grid.
#pragma once
#include "kernels/block/row_functions.h"

namespace sten::kernels {

template <class Grid>
RowFunctions row_functions() {
  return {};
}

}  // namespace sten::kernels
