// SPDX-License-Identifier: Apache-2.0
// The Block (kernels/block/block.h) of CUDA kernels.
#pragma once
#include <cuda_pipeline.h>

#include <type_traits>

#include "kernels/block/block.h"

namespace sten::kernels::cuda {

// A block of `size` threads, all of which take part in every call. A block of one warp ends a phase
// without a block barrier.
template <int size>
class CudaBlock {
 public:
  template <class T>
  using Shared = T*;

  // memory: shared memory of the block, 16-byte aligned.
  __device__ explicit CudaBlock(std::byte* memory) : memory_(memory) {}

  __device__ int threads() const { return size; }
  template <class T>
  __host__ __device__ T* shared(std::int64_t n) {
    return reinterpret_cast<T*>(memory_ + layout_.take<T>(n));
  }
  __device__ std::size_t mark() const { return layout_.used(); }
  __device__ void reset(std::size_t mark) { layout_.reset(mark); }
  template <class F>
  __device__ void for_each_thread(F&& f) const {
    f(thread());
    end_phase();
  }
  template <class F>
  __device__ auto least(F&& f) const {
    const auto v = f(thread());
    if constexpr (sizeof v == 8) {
      // The lower halves of the values with the least upper half.
      using High =
          std::conditional_t<std::is_signed_v<decltype(f(0))>, std::int32_t, std::uint32_t>;
      const auto high = static_cast<High>(v >> 32);
      const High least_high = __reduce_min_sync(all, high);
      const std::uint32_t low = high == least_high ? static_cast<std::uint32_t>(v) : ~0u;
      const auto upper = std::uint64_t{static_cast<std::uint32_t>(least_high)} << 32;
      return static_cast<decltype(f(0))>(upper | __reduce_min_sync(all, low));
    } else {
      return __reduce_min_sync(all, v);
    }
  }
  template <class F>
  __device__ auto most(F&& f) const {
    return __reduce_max_sync(all, f(thread()));
  }
  template <class F>
  __device__ auto sum(F&& f) const {
    return __reduce_add_sync(all, f(thread()));
  }
  template <class F>
  __device__ std::uint32_t votes(F&& f) const {
    return __ballot_sync(all, f(thread()));
  }
  template <class F, class G>
  __device__ void scan(F&& f, G&& g) const {
    const int t = thread();
    const auto own = f(t);
    auto sum = own;
    for (int by = 1; by < 32; by *= 2)
      if (const auto before = __shfl_up_sync(all, sum, by); t >= by) sum += before;
    g(t, sum - own);
    end_phase();
  }
  template <class F, class Combine>
  __device__ auto fold(F&& f, Combine&& combine) const {
    auto v = f(thread());
    for (int half = 16; half > 0; half /= 2) v = combine(v, __shfl_down_sync(all, v, half));
    const auto result = __shfl_sync(all, v, 0);
    end_phase();
    return result;
  }
  template <class T>
  __device__ T read(const T* s, std::int64_t i) const {
    const T v = s[i];
    end_phase();  // later phases must not write before all threads have read
    return v;
  }
  template <class T>
  __device__ void add(T* s, std::int64_t i, T v) const {
    atomicAdd(s + i, v);
  }
  template <class T>
  __device__ void add_global(T* p, T v) const {
    atomicAdd(p, v);
  }
  __device__ void or_bits(std::uint8_t* bits, std::int64_t word, std::uint32_t v) const {
    atomicOr(reinterpret_cast<unsigned*>(bits) + word, v);
  }
  template <class T>
  __device__ void copy_later(T* s, std::int64_t i, const T* p) const {
    static_assert(sizeof(T) == 16);
    __pipeline_memcpy_async(s + i, p, sizeof(T));
  }
  __device__ void end_copies() const {
    __pipeline_commit();
    __pipeline_wait_prior(0);
  }
  template <class T>
  struct PerThread {
    T own;
    __device__ T& operator()(int) { return own; }
  };
  template <class T>
  __device__ PerThread<T> per_thread() const {
    return {};
  }

 private:
  static constexpr unsigned all = ~0u;  // threads of a warp

  // A CUDA block can hold several blocks of one warp.
  __device__ static int thread() {
    return static_cast<int>(size == 32 ? threadIdx.x % 32 : threadIdx.x);
  }
  __device__ static void end_phase() {
    if constexpr (size <= 32)
      __syncwarp();
    else
      __syncthreads();
  }

  std::byte* memory_;
  SharedLayout layout_;
};

}  // namespace sten::kernels::cuda
