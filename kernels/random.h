// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers: value i of a stream depends only on (seed, i), so that any thread,
// also on a device, can compute any part of the stream.
#pragma once
#include <cstdint>

namespace sten::kernels {

// The finalizer of SplitMix64 (Steele, Lea and Flood 2014): a bijection that mixes every bit.
constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t i) {
  return mix_bits(mix_bits(seed) ^ mix_bits(~i));
}

// Uniform in [0, 1), 53 bits.
constexpr double random_uniform(std::uint64_t seed, std::uint64_t i) {
  return static_cast<double>(random_bits(seed, i) >> 11) * 0x1p-53;
}

}  // namespace sten::kernels
