// The process's CUDA device.
#pragma once
#include <string_view>

#include "kernels/cuda/backend.h"
#include "libsten/base/device.h"

namespace sten {

// What command lines say: "cpu", "cuda", "cuda:1". The process's CUDA device from now on is the one
// it names. Error: usage for other words, input where no such device answers.
Device use_device(std::string_view text);
// The same for one of several processes: "cuda" without a number is device rank modulo the devices.
Device use_device(std::string_view text, int rank);
// Its number.
int current_device();

// The backend, ready on this thread, and the one stream of this process. Error where no device
// answers.
const kernels::cuda::Backend& cuda();
kernels::Stream cuda_stream();
// The host waits for all work that was started there.
void wait_for_cuda();

// For on_cuda(), within a handler.
[[noreturn]] void throw_cuda_error();

// f(backend, stream) with what it throws as Error, which says how much memory is left where there
// was none.
template <class F>
decltype(auto) on_cuda(F&& f) {
  const kernels::cuda::Backend& backend = cuda();
  try {
    return f(backend, cuda_stream());
  } catch (const std::exception&) {
    throw_cuda_error();
  }
}

}  // namespace sten
