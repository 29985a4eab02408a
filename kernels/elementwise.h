// SPDX-License-Identifier: Apache-2.0
// Elementwise kernels for magnitude pruning, masking, packing and statistics, on flat arrays of raw
// bits of width 1, 2, 4 or 8 bytes.
//
// The key of an element is its bits without the sign bit. Keys of IEEE-like floats order as |x|
// does; infinity comes after all finite values, NaN after infinity. A bit array has one bit per
// element, least significant first, from bit 0 of bits[0]; unused bits of the last byte are written
// as 0 and ignored when read. Arrays are therefore split at multiples of 8 elements.
// x has the alignment of its elements, bits have none. n can be 0. Only the n elements and
// ceil(n/8) bytes are read or written, no memory is allocated, and arguments do not overlap unless
// stated. All tables give bitwise identical results.
#pragma once
#include <cstdint>

#include "kernels/floats.h"
#include "kernels/isa.h"

namespace sten::kernels {

template <class U>
inline constexpr U greatest_key = static_cast<U>(static_cast<U>(~U{0}) >> 1);

template <class U>
constexpr U magnitude_key(U bits) {
  return static_cast<U>(bits & greatest_key<U>);
}

// A histogram of `count` bins of 2^shift keys each, from the key `first`: bin b holds the keys k >=
// first with (k - first) >> shift == b. Keys outside of the bins are not counted. 0 <= shift < 8 *
// sizeof(U), first <= greatest_key<U>, count >= 1.
template <class U>
struct KeyBins {
  U first;
  int shift;
  std::int32_t count;
};

// Bins for all keys by their top bits, for a first pass over unknown data.
template <class U>
constexpr KeyBins<U> all_key_bins() {
  constexpr int shift = sizeof(U) > 2 ? 8 * (static_cast<int>(sizeof(U)) - 2) : 0;
  return {0, shift, static_cast<std::int32_t>((greatest_key<U> >> shift) + 1)};
}

// Counters per bin. Neighbours often have equal keys (zeros), and increments of a single counter
// would wait for each other. counts[count * histogram_lanes]; bin b is the sum of the
// histogram_lanes counters from b * histogram_lanes.
inline constexpr int histogram_lanes = 4;

// Adds bin b to totals[b] and clears its counters.
void drain_histogram(std::uint32_t* counts, std::int32_t count, std::int64_t* totals);

struct KeysBetween {
  std::int64_t below, inside;  // keys less than the range, and within the range
};

template <class U>
struct WidthKernels {
  // Adds the keys to the counters of their bins; returns the number of keys less than bins.first.
  // Counters do not overflow if fewer than 2^32 elements are counted between two drains. Fast if
  // all keys are in the bins of all_key_bins(), or if few are in `bins`.
  std::int64_t (*histogram)(const U* x, std::int64_t n, KeyBins<U> bins, std::uint32_t* counts);
  // Writes the keys in [first, last], in the elements' order, at most `room` of them; counts all.
  // Fast if there are few.
  KeysBetween (*keys_between)(const U* x, std::int64_t n, U first, U last, U* keys,
                              std::int64_t room);
  // Counts the elements whose key equals `key`; 0 counts zeros of both signs.
  std::int64_t (*count_key)(const U* x, std::int64_t n, U key);
  // Counts the elements whose bits are not all 0.
  std::int64_t (*count_nonzero)(const U* x, std::int64_t n);
  // Sets the bits of elements with a key greater than `boundary`, and of the first `ties` with a
  // key equal to it. Returns the number of equal keys, so that a caller who works in segments can
  // reduce `ties`.
  std::int64_t (*keep_above)(const U* x, std::int64_t n, U boundary, std::int64_t ties,
                             std::uint8_t* bits);
  // Sets bit i if the bits of x[i] are not all 0.
  void (*nonzero_bits)(const U* x, std::int64_t n, std::uint8_t* bits);
  // out[i] is x[i] where bit i is set, else 0. out may be x.
  void (*mask_values)(const U* x, const std::uint8_t* bits, std::int64_t n, U* out);
  // Writes the elements whose bit is set, in order, and nothing else; returns their number.
  std::int64_t (*compress)(const U* x, const std::uint8_t* bits, std::int64_t n, U* out);
  // Inverse of compress: out[i] is the next value if bit i is set, else 0. Returns the number of
  // values that were read.
  std::int64_t (*expand)(const U* values, const std::uint8_t* bits, std::int64_t n, U* out);
};

struct MagnitudeSums {
  double all = 0, kept = 0;
};

template <class U>
struct FloatKernels {
  // Sums |x| over all elements and over those whose bit is set, in double. Element i is added to
  // partial sum i % 16, in order, from 0; then s[i] += s[i + h] for i < h, for h = 8, 4, 2, 1; s[0]
  // is the sum. The sum is NaN if an element is NaN.
  MagnitudeSums (*sum_magnitudes)(const U* x, const std::uint8_t* bits, std::int64_t n);
  // Index of the first infinity or NaN; n if all elements are finite.
  std::int64_t (*first_not_finite)(const U* x, std::int64_t n);
};

struct ElementwiseTable {
  WidthKernels<std::uint8_t> w1;
  WidthKernels<std::uint16_t> w2;
  WidthKernels<std::uint32_t> w4;
  WidthKernels<std::uint64_t> w8;
  FloatKernels<std::uint64_t> f64;
  FloatKernels<std::uint32_t> f32;
  FloatKernels<std::uint16_t> f16, bf16;
  FloatKernels<std::uint8_t> f8_e4m3, f8_e5m2;
  // Counts the set bits among the first n.
  std::int64_t (*count_bits)(const std::uint8_t* bits, std::int64_t n);

  template <class U>
  constexpr const WidthKernels<U>& of() const {
    if constexpr (sizeof(U) == 1)
      return w1;
    else if constexpr (sizeof(U) == 2)
      return w2;
    else if constexpr (sizeof(U) == 4)
      return w4;
    else
      return w8;
  }
  template <FloatKind kind>
  constexpr const auto& of() const {
    if constexpr (kind == FloatKind::f64)
      return f64;
    else if constexpr (kind == FloatKind::f32)
      return f32;
    else if constexpr (kind == FloatKind::f16)
      return f16;
    else if constexpr (kind == FloatKind::bf16)
      return bf16;
    else if constexpr (kind == FloatKind::f8_e4m3)
      return f8_e4m3;
    else
      return f8_e5m2;
  }
};

// The table for active_isa().
const ElementwiseTable& elementwise();
// nullptr unless has_isa(isa).
const ElementwiseTable* elementwise_for(Isa isa);

}  // namespace sten::kernels
