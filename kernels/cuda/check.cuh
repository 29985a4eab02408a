// SPDX-License-Identifier: Apache-2.0
// CUDA errors as exceptions.
#pragma once
#include <cuda_runtime.h>

#include <new>
#include <stdexcept>
#include <string>

namespace sten::kernels::cuda {

// doing: the operation for the message, "a copy to the device".
inline void check(cudaError_t error, const char* doing) {
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();
  if (error == cudaErrorMemoryAllocation) throw std::bad_alloc();
  throw std::runtime_error(std::string("CUDA: ") + doing + ": " + cudaGetErrorString(error));
}

}  // namespace sten::kernels::cuda
