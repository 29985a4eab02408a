// The one door to CUDA, in plain C++: compiled against everywhere, built where nvcc is found.
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

// Memory that a function's kernels have until they have run.
struct Scratch {
  void* data;
  std::size_t bytes;  // at least as many as were asked for
};
struct ScratchFunctions {
  Scratch (*take)(std::size_t bytes, Stream);
  void (*give_back)(const Scratch&, Stream);  // what the stream has begun may still use it
};

// Of the thread's device; each thread begins with device 0.
struct MemoryFunctions {
  void (*use)(int device);
  DeviceInfo (*info)(int device);
  std::size_t (*unused)();  // bytes that are free
  // 256-byte aligned, bytes > 0; what is released is kept for later. A block is the stream's:
  // others wait before they use it.
  void* (*allocate)(std::size_t bytes, Stream);
  void (*release)(void* data, Stream);
  // Memory of the host that copies go to and from without the host's waiting.
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
  void (*wait_for_event)(void* event);               // the host does
  double (*milliseconds)(void* event, void* later);  // both have passed

  // From now on functions have scratch of these, which last as long; nullptr: of CUDA, as at first.
  void (*use_scratch)(const ScratchFunctions*);
};

// Failures are std::runtime_error with what CUDA says, or std::bad_alloc where the device has no
// memory left.
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

// nullptr in a build without CUDA, and where no device answers.
const Backend* backend();
// Of this build.
bool is_built();
// For tests: one in its place, or the true one again.
void set_backend(const Backend*);

// What the build has: backend() but for tests.
const Backend* true_backend();

}  // namespace sten::kernels::cuda
