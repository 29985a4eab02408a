// SPDX-License-Identifier: Apache-2.0
// Groups of 8 elements, which share a byte of a bit array. A thread handles one group at a time.
#pragma once
#include <bit>
#include <cstdint>

#include "kernels/block/functions.h"

namespace sten::kernels {

// A group that is loaded and stored as one vector if the array is aligned.
template <class U>
struct alignas(sizeof(U) == 1 ? 8 : 16) Group {
  U at[8];
};

STEN_HOST_DEVICE inline std::int64_t groups_of(std::int64_t n) { return (n + 7) / 8; }

// Number of elements of a group inside of the array.
STEN_HOST_DEVICE inline int group_size(std::int64_t n, std::int64_t group) {
  return n - 8 * group < 8 ? static_cast<int>(n - 8 * group) : 8;
}

template <class U>
STEN_DEVICE bool is_group_aligned(const U* x) {
  return reinterpret_cast<std::uintptr_t>(x) % alignof(Group<U>) == 0;
}

// Loads a group, with zeros after the n elements.
template <class U>
STEN_DEVICE Group<U> load_group(const U* x, std::int64_t n, std::int64_t group) {
  const U* from = x + 8 * group;
  const int size = group_size(n, group);
  if (size == 8 && is_group_aligned(x)) return *reinterpret_cast<const Group<U>*>(from);
  Group<U> g;
  for (int i = 0; i < 8; ++i) g.at[i] = i < size ? from[i] : U{0};
  return g;
}

template <class U>
STEN_DEVICE void store_group(U* x, std::int64_t n, std::int64_t group, const Group<U>& g) {
  U* to = x + 8 * group;
  const int size = group_size(n, group);
  if (size == 8 && is_group_aligned(x)) {
    *reinterpret_cast<Group<U>*>(to) = g;
    return;
  }
  for (int i = 0; i < 8; ++i)
    if (i < size) to[i] = g.at[i];
}

// The byte of a bit array with keep(i) for each element of a group.
template <class F>
STEN_DEVICE std::uint8_t byte_of(std::int64_t n, std::int64_t group, F&& keep) {
  const int size = group_size(n, group);
  unsigned byte = 0;
  for (int i = 0; i < 8; ++i) byte |= (i < size && keep(i) ? 1u : 0u) << i;
  return static_cast<std::uint8_t>(byte);
}

STEN_DEVICE inline int bits_in(std::uint8_t byte) { return std::popcount(byte); }

// Bit i, for kernels that test single elements.
STEN_DEVICE inline bool bit_of(const std::uint8_t* bits, std::int64_t i) {
  return bits[i >> 3] >> (i & 7) & 1;
}

// A block of threads handles a segment, of which it can stage 32 KiB in shared memory.
inline constexpr int segment_threads = 256;
template <class U>
inline constexpr int segment_groups = sizeof(U) == 8 ? 512 : 1024;

STEN_HOST_DEVICE inline std::int64_t segments_of(std::int64_t n, int groups) {
  return (groups_of(n) + groups - 1) / groups;
}

// Calls f(group) for all groups of n elements; F::groups is the number of groups per block.
template <class F>
struct EachGroup {
  static constexpr int threads = segment_threads;
  F f;
  std::int64_t n;

  std::int64_t blocks() const { return segments_of(n, F::groups); }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t piece) const {
    const std::int64_t first = piece * F::groups, left = groups_of(n) - first;
    b.for_each_thread([&](int t) {
      each_of(b, t, left < F::groups ? left : F::groups, [&](std::int64_t g) { f(first + g); });
    });
  }
};

}  // namespace sten::kernels
