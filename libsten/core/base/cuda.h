// SPDX-License-Identifier: Apache-2.0
// The CUDA device and stream of the process.
#pragma once
#include <tuple>
#include <utility>

#include "kernels/cuda/backend.h"
#include "libsten/core/base/device.h"

namespace sten {

struct DeviceSpec;

// Makes a CUDA device the device of the process: without an index, the first one. Error if it does
// not respond.
Device use_device(const DeviceSpec& device);
// The same for one of several processes: without an index, device rank modulo the device count.
Device use_device(const DeviceSpec& device, int rank);
int current_device();

// The backend, initialized on this thread, and the stream of the process. Error if no device
// responds.
const kernels::cuda::Backend& cuda();
kernels::Stream cuda_stream();
// Waits until the stream has finished all its work.
void wait_for_cuda();

// Rethrows the current exception of a handler as Error; for on_cuda().
[[noreturn]] void throw_cuda_error();

// Returns f(backend, stream). Throws exceptions of f as Error; if memory ran out, the text says how
// much is left.
template <class F>
decltype(auto) on_cuda(F&& f) {
  const kernels::cuda::Backend& backend = cuda();
  try {
    return f(backend, cuda_stream());
  } catch (const std::exception&) {
    throw_cuda_error();
  }
}

// Calls a function of the backend on the stream of the process, with the errors of on_cuda():
// launch(&kernels::MapFunctions::add_bias, rows, n, b, y).
template <class Table, class R, class... P, class... A>
R launch(R (*Table::*function)(P...), A&&... args) {
  return on_cuda([&](const kernels::cuda::Backend& b, kernels::Stream stream) {
    const auto tables = std::tie(b.memory, b.elementwise, b.nm, b.nmg, b.products, b.gemm, b.maps,
                                 b.rows, b.steps, b.windows);
    return (std::get<const Table&>(tables).*function)(std::forward<A>(args)..., stream);
  });
}

}  // namespace sten
