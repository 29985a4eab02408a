// SPDX-License-Identifier: Apache-2.0
// The Grid (kernels/block/grid.h) that launches kernels on a device.
#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <vector>

#include "kernels/block/grid.h"
#include "kernels/cuda/backend.h"
#include "kernels/cuda/check.cuh"
#include "kernels/cuda/cuda_block.cuh"

namespace sten::kernels::cuda {

// Blocks of one warp share a CUDA block, because a multiprocessor has room for few blocks.
template <class Kernel>
inline constexpr int together = Kernel::threads == 32 ? 4 : 1;

// Runs the blocks [first, end).
template <class Kernel>
__global__ void __launch_bounds__(Kernel::threads* together<Kernel>)
    run_kernel(Kernel kernel, std::int64_t first, std::int64_t end, unsigned shared) {
  extern __shared__ __align__(16) std::byte memory[];
  const unsigned mine = together<Kernel> == 1 ? 0 : threadIdx.x / 32;
  const std::int64_t block = first + std::int64_t{blockIdx.x} * together<Kernel> + mine;
  if (block >= end) return;
  CudaBlock<Kernel::threads> b(memory + mine * shared);
  kernel(b, block);
}

// nullptr: CUDA's own pool.
const ScratchFunctions* scratch_functions();

class CudaGrid {
 public:
  explicit CudaGrid(Stream stream) : stream_(static_cast<cudaStream_t>(stream)) {}
  ~CudaGrid() {
    for (const Taken& t : scratch_) {
      if (t.of)
        t.of->give_back(t.scratch, stream_);
      else
        (void)cudaFreeAsync(t.scratch.data, stream_);
    }
  }
  CudaGrid(const CudaGrid&) = delete;
  CudaGrid& operator=(const CudaGrid&) = delete;

  template <class Kernel>
  void launch(const Kernel& kernel) {
    constexpr int several = together<Kernel>;
    const std::size_t shared = (shared_bytes_of(kernel) + 15) / 16 * 16, all = several * shared;
    if (all > 48 << 10) allow_shared<Kernel>(all);
    const std::int64_t blocks = kernel.blocks();
    const std::int64_t most = std::int64_t{std::numeric_limits<std::int32_t>::max()} * several;
    for (std::int64_t first = 0; first < blocks; first += most) {
      const std::int64_t end = blocks - first < most ? blocks : first + most;
      const auto count = static_cast<unsigned>((end - first + several - 1) / several);
      run_kernel<<<count, Kernel::threads * several, all, stream_>>>(kernel, first, end,
                                                                     static_cast<unsigned>(shared));
      check(cudaGetLastError(), "a kernel");
    }
  }
  std::size_t most_shared() const {
    return static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  }
  int processors() const { return attribute(cudaDevAttrMultiProcessorCount); }
  template <class T>
  T* scratch(std::int64_t n) {
    const std::size_t bytes = n > 0 ? static_cast<std::size_t>(n) * sizeof(T) : 1;
    Taken& t = scratch_.emplace_back();
    t.of = scratch_functions();
    if (t.of)
      t.scratch = t.of->take(bytes, stream_);
    else
      check(cudaMallocAsync(&t.scratch.data, bytes, stream_), "memory");
    return static_cast<T*>(t.scratch.data);
  }
  template <class T>
  T fetch(const T* p) {
    T value;
    check(cudaMemcpyAsync(&value, p, sizeof value, cudaMemcpyDeviceToHost, stream_),
          "a copy from the device");
    check(cudaStreamSynchronize(stream_), "a kernel");
    return value;
  }

 private:
  struct Taken {
    const ScratchFunctions* of = nullptr;
    Scratch scratch{nullptr, 0};
  };
  // Raises the shared memory limit of a kernel on this device, if more is needed than before.
  template <class Kernel>
  static void allow_shared(std::size_t bytes) {
    static std::mutex lock;
    static std::map<int, std::size_t> allowed;
    int device = 0;
    check(cudaGetDevice(&device), "the current device");
    const std::lock_guard hold(lock);
    if (bytes <= allowed[device]) return;
    check(cudaFuncSetAttribute(run_kernel<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(bytes)),
          "shared memory of a kernel");
    allowed[device] = bytes;
  }
  static int attribute(cudaDeviceAttr of) {
    int device = 0, value = 0;
    check(cudaGetDevice(&device), "the current device");
    check(cudaDeviceGetAttribute(&value, of, device), "its attributes");
    return value;
  }

  cudaStream_t stream_;
  std::vector<Taken> scratch_;
};

}  // namespace sten::kernels::cuda
