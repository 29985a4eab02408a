// GemmFunctions (gemm_functions.h) over a Grid.
#pragma once
#include "kernels/block/gemm_functions.h"

namespace sten::kernels {

template <class Grid>
GemmFunctions gemm_functions() {
  return {};
}

}  // namespace sten::kernels
