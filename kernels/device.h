// Functions that CUDA compiles for its devices, too.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

// STEN_UNROLL(times) before a loop of a device function: that many turns of it at once. (The host's
// compiler, which sees functions for both, does not know it.)
#if defined(__CUDACC__)
#define STEN_DEVICE __device__
#define STEN_HOST_DEVICE __host__ __device__
#define STEN_PRAGMA(text) _Pragma(#text)
#define STEN_UNROLL(times) STEN_PRAGMA(unroll(times))
#else
#define STEN_DEVICE
#define STEN_HOST_DEVICE
#define STEN_UNROLL(times)
#endif

namespace sten::kernels {

// Halves to even; v is in the range of the result.
#if defined(__CUDACC__)
__device__ inline std::int32_t nearest_int(float v) { return __float2int_rn(v); }
#else
inline std::int32_t nearest_int(float v) { return static_cast<std::int32_t>(std::lrint(v)); }
#endif

// The place of the lowest bit that is set; there is one. (For a device, nvcc 13 makes 32 of
// std::countr_zero() whatever the number, and 0 of std::bit_width() of 64 bits.)
#if defined(__CUDA_ARCH__)
__device__ inline int lowest_bit(std::uint32_t v) { return __ffs(static_cast<int>(v)) - 1; }
#else
STEN_HOST_DEVICE inline int lowest_bit(std::uint32_t v) { return std::countr_zero(v); }
#endif

}  // namespace sten::kernels
