// SPDX-License-Identifier: Apache-2.0
// Compress and expand (kernels/elementwise.h) on a device. A segment is staged in shared memory, so
// that accesses of device memory are coalesced.
#pragma once
#include "kernels/block/elementwise/segments.h"

namespace sten::kernels {

template <int size>
struct CountBits {
  static constexpr int groups = size;
  const std::uint8_t* bits;
  std::int64_t n;

  STEN_DEVICE std::int64_t none() const { return 0; }
  STEN_DEVICE static std::int64_t combine(std::int64_t a, std::int64_t b) { return a + b; }
  STEN_DEVICE std::int64_t operator()(std::int64_t g) const { return bits_in(bits[g]); }
};

// Offsets of the groups of a segment among its kept elements. before[p]: number of elements that
// are kept before segment p.
template <class U>
struct PackedSegments {
  static constexpr int threads = segment_threads, groups = segment_groups<U>;
  std::int64_t n;
  const std::uint8_t* bits;
  const std::int64_t* before;

  std::int64_t blocks() const { return segments_of(n, groups); }
  std::size_t shared_bytes() const {
    return (2 * threads + groups) * sizeof(std::int32_t) + 8 * groups * sizeof(U);
  }
  // Returns the number of kept elements.
  template <class Block>
  STEN_DEVICE std::int32_t find(Block& b, std::int64_t piece,
                                typename Block::template Shared<std::int32_t> offsets) const {
    auto scratch = b.template shared<std::int32_t>(2 * threads);
    const std::int64_t first = piece * groups, left = groups_of(n) - first;
    return compact_groups(b, groups, scratch, offsets,
                          [&](int g) { return g < left ? bits_in(bits[first + g]) : 0; });
  }
};

template <class U>
struct Compress : PackedSegments<U> {
  using Base = PackedSegments<U>;
  using Base::groups, Base::n, Base::bits, Base::before;
  const U* x;
  U* values;

  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t piece) const {
    auto staged = b.template shared<U>(8 * groups);
    auto offsets = b.template shared<std::int32_t>(groups);
    const std::int32_t kept = this->find(b, piece, offsets);
    const std::int64_t first = piece * groups, left = groups_of(n) - first;
    b.for_each_thread([&](int t) {
      each_of(b, t, left < groups ? left : groups, [&](std::int64_t g) {
        const unsigned byte = bits[first + g];
        if (byte == 0) return;
        const Group<U> group = load_group(x, n, first + g);
        std::int32_t to = offsets[g];
        for (int i = 0; i < 8; ++i)
          if (byte >> i & 1) staged[to++] = group.at[i];
      });
    });
    U* out = values + before[piece];
    b.for_each_thread(
        [&](int t) { each_of(b, t, kept, [&](std::int64_t i) { out[i] = staged[i]; }); });
  }
};

template <class U>
struct Expand : PackedSegments<U> {
  using Base = PackedSegments<U>;
  using Base::groups, Base::n, Base::bits, Base::before;
  const U* values;
  U* out;

  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t piece) const {
    auto staged = b.template shared<U>(8 * groups);
    auto offsets = b.template shared<std::int32_t>(groups);
    const std::int32_t kept = this->find(b, piece, offsets);
    const U* from = values + before[piece];
    b.for_each_thread(
        [&](int t) { each_of(b, t, kept, [&](std::int64_t i) { staged[i] = from[i]; }); });
    const std::int64_t first = piece * groups, left = groups_of(n) - first;
    b.for_each_thread([&](int t) {
      each_of(b, t, left < groups ? left : groups, [&](std::int64_t g) {
        const unsigned byte = bits[first + g];
        std::int32_t at = offsets[g];
        Group<U> group;
        for (int i = 0; i < 8; ++i) group.at[i] = byte >> i & 1 ? U{staged[at++]} : U{0};
        store_group(out, n, first + g, group);
      });
    });
  }
};

}  // namespace sten::kernels
