// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/backend.h"

#include "kernels/cuda/check.cuh"
#include "kernels/cuda/functions.cuh"
#include "kernels/cuda/plugin.h"

namespace sten::kernels::cuda {
// The compiler would put the folder of the build into the name of an unnamed namespace.
inline namespace functions_file {

int devices() {
  int n = 0;
  return cudaGetDeviceCount(&n) == cudaSuccess ? n : 0;
}

}  // namespace functions_file

}  // namespace sten::kernels::cuda

extern "C" const char* sten_cuda_version() { return STEN_VERSION; }
extern "C" const sten::kernels::cuda::Backend* sten_cuda_backend() {
  using namespace sten::kernels::cuda;
  static const int found = devices();
  if (found == 0) return nullptr;
  static const Backend all{found,       make_memory(),   make_elementwise(), make_nm(),
                           make_nmg(),  make_products(), make_gemm(),        make_maps(),
                           make_rows(), make_steps(),    make_windows()};
  return &all;
}
