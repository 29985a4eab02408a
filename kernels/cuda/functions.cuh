// SPDX-License-Identifier: Apache-2.0
// The kernel families of the backend, one per source file.
#pragma once
#include "kernels/cuda/backend.h"

namespace sten::kernels::cuda {

MemoryFunctions make_memory();
ElementwiseFunctions make_elementwise();
NmFunctions make_nm();
NmgFunctions make_nmg();
ProductFunctions make_products();
GemmFunctions make_gemm();
MapFunctions make_maps();
RowFunctions make_rows();
StepFunctions make_steps();
WindowFunctions make_windows();

}  // namespace sten::kernels::cuda
