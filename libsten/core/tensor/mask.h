// SPDX-License-Identifier: Apache-2.0
// Mask: one bit per element, set if its position is stored.
#pragma once
#include <atomic>
#include <cstdint>

#include "libsten/core/base/array.h"
#include "libsten/core/base/shape.h"

namespace sten {

inline bool bit_at(const std::uint8_t* bits, Index i) { return bits[i >> 3] >> (i & 7) & 1; }
inline void set_bit(std::uint8_t* bits, Index i) {
  bits[i >> 3] = static_cast<std::uint8_t>(bits[i >> 3] | 1u << (i & 7));
}

// The same while other threads set other bits of the byte.
inline void set_bit_shared(std::uint8_t* bits, Index i) {
  std::atomic_ref(bits[i >> 3])
      .fetch_or(static_cast<std::uint8_t>(1u << (i & 7)), std::memory_order_relaxed);
}

// Sets the bits from i on that are set in `word`. Other threads may set other bits of the first and
// the last byte.
void set_bits_shared(std::uint8_t* bits, Index i, std::uint64_t word);

struct Mask {
  Shape extents;
  Array<std::uint8_t> bits;  // [ceil(N/8)], row-major, least significant bit first; spare bits 0

  static Mask none(Shape extents, Device device = Device::cpu);
  static Mask all(Shape extents);

  Index size() const { return size_of(extents); }
  Device device() const { return bits.device(); }
  Mask to(Device device) const { return {extents, bits.to(device)}; }
  // Number of set bits.
  Index count() const;
  // For masks on the CPU.
  bool operator[](Index i) const { return bit_at(bits.data(), i); }
  void set(Index i, bool keep);
};

// Parallel loops that write a mask use ranges that are multiples of this many elements.
inline constexpr Index mask_grain = Index{1} << 16;

Index count_bits(const std::uint8_t* bits, Index begin, Index end);

}  // namespace sten
