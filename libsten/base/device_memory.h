// Memory on a CUDA device, and the ways there and back. Nothing here copies unless asked to.
#pragma once
#include <cstddef>
#include <memory>
#include <string_view>

#include "kernels/cuda/backend.h"
#include "libsten/base/device.h"

namespace sten {

// What command lines say: "cpu", "cuda", "cuda:1". The process's CUDA device from now on is the one
// it names. Error: usage for other words, input where no such device answers.
Device use_device(std::string_view text);
// Its number.
int current_device();

// The backend, ready on this thread, and the one stream of this process. Error where no device
// answers.
const kernels::cuda::Backend& cuda();
kernels::Stream cuda_stream();

// `bytes` > 0, uninitialised; on the CPU as allocate() (memory.h). On a device aligned to 256 bytes
// with no end within the last of these. Error where it has no room.
std::shared_ptr<void> allocate_on(Device device, std::size_t bytes);

// From one device to another one, or on one. A copy to the CPU is done on return. One to a device
// is done when its stream comes to it, and what it copies from the CPU, through pinned memory, may
// change on return.
void copy_bytes(void* to, Device to_device, const void* from, Device from_device,
                std::size_t bytes);
// Zeros.
void clear_bytes(void* to, Device device, std::size_t bytes);

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
