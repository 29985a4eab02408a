// SPDX-License-Identifier: Apache-2.0
// The backend interface of CUDA in plain C++. libsten_cuda.so implements it, which is built if nvcc
// is found, and loaded at the first use of a device.
#pragma once
#include <cstddef>
#include <string>

#include "kernels/block/functions.h"
#include "kernels/block/gemm_functions.h"
#include "kernels/block/map_functions.h"
#include "kernels/block/row_functions.h"
#include "kernels/block/step_functions.h"
#include "kernels/block/window_functions.h"

namespace sten::kernels::cuda {

struct DeviceInfo {
  std::string name;
  std::size_t memory, l2_cache;  // bytes
  int processors;
};

// Temporary device memory of a function's kernels, until they have finished.
struct Scratch {
  void* data;
  std::size_t bytes;  // at least the requested bytes
};
struct ScratchFunctions {
  Scratch (*take)(std::size_t bytes, Stream);
  void (*give_back)(const Scratch&, Stream);  // earlier work of the stream can still use it
};

// Memory, streams and events of the thread's current device. Each thread starts with device 0.
struct MemoryFunctions {
  void (*use)(int device);
  DeviceInfo (*info)(int device);
  std::size_t (*unused)();  // free bytes of the device
  // Returns 256-byte aligned memory; bytes > 0. Released memory stays in the pool of the process.
  // Memory belongs to its stream: other streams have to wait before they use it.
  void* (*allocate)(std::size_t bytes, Stream);
  void (*release)(void* data, Stream);
  // Host memory for asynchronous copies.
  void* (*allocate_pinned)(std::size_t bytes);
  void (*release_pinned)(void* data);
  void (*upload)(void* to, const void* from_host, std::size_t bytes, Stream);
  void (*download)(void* to_host, const void* from, std::size_t bytes, Stream);
  void (*copy)(void* to, const void* from, std::size_t bytes, Stream);
  void (*clear)(void* to, std::size_t bytes, Stream);
  void (*wait)(Stream);

  Stream (*make_stream)();
  void (*end_stream)(Stream);
  void* (*make_event)();
  void (*end_event)(void* event);
  void (*record)(void* event, Stream);
  void (*wait_for_event)(void* event);               // blocks the host
  double (*milliseconds)(void* event, void* later);  // between two events that have passed

  // Sets the source of scratch, which has to outlive its use; nullptr: CUDA's own pool, the
  // default.
  void (*use_scratch)(const ScratchFunctions*);
};

// The functions of a device. Errors are std::runtime_error with CUDA's message, or std::bad_alloc
// if device memory is exhausted.
struct Backend {
  int devices;
  MemoryFunctions memory;
  ElementwiseFunctions elementwise;
  NmFunctions nm;
  NmgFunctions nmg;
  ProductFunctions products;
  GemmFunctions gemm;
  MapFunctions maps;
  RowFunctions rows;
  StepFunctions steps;
  WindowFunctions windows;
};

// nullptr without libsten_cuda.so, or without a usable device.
const Backend* backend();
// Why there is no true_backend(): "no CUDA device found", or what is wrong with the library.
const std::string& absence();
// For tests: replaces the backend; nullptr restores the true one.
void set_backend(const Backend*);

// The backend of libsten_cuda.so, regardless of set_backend().
const Backend* true_backend();

}  // namespace sten::kernels::cuda
