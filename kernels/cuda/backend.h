// The one door to CUDA, in plain C++: compiled against everywhere, built where nvcc is found.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/block/nmg_exact_chunk.h"
#include "kernels/nmg_fit.h"

namespace sten::kernels::cuda {

// Failures are std::runtime_error with what CUDA says, or std::bad_alloc where the device has no
// memory left. All pointers are to memory of the current device, unless said otherwise.
struct Backend {
  int devices;

  void* (*allocate)(std::size_t bytes);
  void (*release)(void* data);
  void (*upload)(void* to, const void* from_host, std::size_t bytes);
  void (*download)(void* to_host, const void* from, std::size_t bytes);

  // pattern_of[units, strips], the exact fit of every chunk. The format's patterns, too, are on the
  // device. False, and nothing done, where a chunk does not fit into the shared memory of a block.
  bool (*nmg_fit_f32)(const NmgFormat& format, const NmgMatrix<float>& in,
                      std::uint16_t* pattern_of);
  bool (*nmg_fit_f64)(const NmgFormat& format, const NmgMatrix<double>& in,
                      std::uint16_t* pattern_of);
};

// nullptr in a build without CUDA, and where no device answers.
const Backend* backend();
// Of this build.
bool is_built();

}  // namespace sten::kernels::cuda
