// GemmFunctions (gemm_functions.h) over a Grid.
#pragma once
#include "kernels/block/gemm_functions.h"

namespace sten::kernels {

// `dense` is a library's.
template <class Grid>
GemmFunctions gemm_functions(void (*dense)(const GemmOperands&, Stream)) {
  return {dense};
}

}  // namespace sten::kernels
