// SPDX-License-Identifier: Apache-2.0
// Functions and macros that compile for the CPU and for CUDA devices.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

// STEN_UNROLL(times) unrolls the next loop of a device function. It is empty for the host compiler,
// which does not know the pragma.
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

// Rounds to the nearest integer, ties to even. v must be in the range of the result.
#if defined(__CUDACC__)
__device__ inline std::int32_t nearest_int(float v) { return __float2int_rn(v); }
#else
inline std::int32_t nearest_int(float v) { return static_cast<std::int32_t>(std::lrint(v)); }
#endif

// Index of the lowest set bit of v != 0. Device code cannot use <bit>: nvcc 13 evaluates
// std::countr_zero() to 32 for every argument, and std::bit_width() of 64 bits to 0.
#if defined(__CUDA_ARCH__)
__device__ inline int lowest_bit(std::uint32_t v) { return __ffs(static_cast<int>(v)) - 1; }
#else
STEN_HOST_DEVICE inline int lowest_bit(std::uint32_t v) { return std::countr_zero(v); }
#endif

}  // namespace sten::kernels
