// SPDX-License-Identifier: Apache-2.0
// Magnitude pruning of a whole array: radix selection of the threshold, digit by digit, without a
// round trip to the host.
#pragma once
#include "kernels/block/elementwise/segments.h"
#include "kernels/elementwise.h"

namespace sten::kernels {

// The type of CUDA's 64-bit atomics.
using DeviceCount = unsigned long long;

// State of the search for the key of a given rank: its leading digits.
struct SelectedKey {
  DeviceCount key;     // the digits so far
  DeviceCount rank;    // among the keys with these digits
  DeviceCount equals;  // number of keys with these digits
};

// A digit of a key: `bits` bits from bit `shift` on.
struct KeyDigit {
  static constexpr int most_bits = 11;
  int shift, bits;

  // The digit that follows after one that ends at bit `above`.
  static KeyDigit next(int above) {
    const int digits = (above + most_bits - 1) / most_bits;
    const int bits = (above + digits - 1) / digits;
    return {above - bits, bits};
  }
};

inline constexpr int most_key_bins = 1 << KeyDigit::most_bits;

// Histogram of the next digit over the keys that match selected->key so far, added to totals.
template <class U>
struct CountDigits {
  static constexpr int threads = 512;
  // About the number of blocks that run at a time on a large GPU. Each adds its histogram to the
  // totals.
  static constexpr std::int64_t most_blocks = 528;
  const U* x;
  std::int64_t n;
  KeyDigit digit;
  bool is_first;
  const SelectedKey* selected;
  DeviceCount* totals;

  STEN_HOST_DEVICE std::int64_t blocks() const {
    const std::int64_t all = (groups_of(n) + threads - 1) / threads;
    return all < most_blocks ? all : most_blocks;
  }
  std::size_t shared_bytes() const { return sizeof(std::uint32_t) << digit.bits; }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t block) const {
    const std::int64_t bins = std::int64_t{1} << digit.bits;
    auto counts = b.template shared<std::uint32_t>(bins);
    b.for_each_thread([&](int t) { each_of(b, t, bins, [&](std::int64_t i) { counts[i] = 0; }); });
    const U mask = static_cast<U>(bins - 1);
    const U above = is_first ? U{0} : static_cast<U>(selected->key >> digit.shift >> digit.bits);
    const std::int64_t groups = groups_of(n), step = blocks() * threads;
    b.for_each_thread([&](int t) {
      // Equal neighbours, such as zeros, are counted together.
      U last = 0;
      std::uint32_t run = 0;
      for (std::int64_t g = block * threads + t; g < groups; g += step) {
        const Group<U> group = load_group(x, n, g);
        const int size = group_size(n, g);
        for (int i = 0; i < 8; ++i) {
          const U top = static_cast<U>(magnitude_key(group.at[i]) >> digit.shift);
          if (i >= size || (!is_first && static_cast<U>(top >> digit.bits) != above)) continue;
          const U bin = static_cast<U>(top & mask);
          if (run > 0 && bin != last) {
            b.add(counts, static_cast<std::int64_t>(last), run);
            run = 0;
          }
          last = bin;
          ++run;
        }
      }
      if (run > 0) b.add(counts, static_cast<std::int64_t>(last), run);
    });
    b.for_each_thread([&](int t) {
      each_of(b, t, bins, [&](std::int64_t i) {
        if (const std::uint32_t count = counts[i]) b.add_global(totals + i, DeviceCount{count});
      });
    });
  }
};

// Clears the totals for the first digit.
struct ClearTotals {
  static constexpr int threads = 1024;
  std::int64_t rank;
  SelectedKey* selected;
  DeviceCount* totals;

  std::int64_t blocks() const { return 1; }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t) const {
    b.for_each_thread([&](int t) {
      each_of(b, t, most_key_bins, [&](std::int64_t i) { totals[i] = 0; });
      if (t == 0) *selected = {0, static_cast<DeviceCount>(rank), 0};
    });
  }
};

// Appends the next digit to *selected and clears the totals.
struct SelectDigit {
  static constexpr int threads = 256;
  KeyDigit digit;
  SelectedKey* selected;
  DeviceCount* totals;

  std::int64_t blocks() const { return 1; }
  std::size_t shared_bytes() const { return 2 * threads * sizeof(DeviceCount); }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t) const {
    const int bins = 1 << digit.bits, each = (bins + threads - 1) / threads;
    auto before = b.template per_thread<DeviceCount>();
    scan<DeviceCount>(b, b.template shared<DeviceCount>(2 * threads), before, [&](int t) {
      DeviceCount sum = 0;
      for (int i = t * each; i < (t + 1) * each && i < bins; ++i) sum += totals[i];
      return sum;
    });
    auto found = b.template per_thread<int>();
    auto next = b.template per_thread<SelectedKey>();
    b.for_each_thread([&](int t) {
      const SelectedKey so_far = *selected;
      DeviceCount sum = before(t);
      found(t) = 0;
      for (int i = t * each; i < (t + 1) * each && i < bins; ++i) {
        const DeviceCount count = totals[i];
        if (so_far.rank >= sum && so_far.rank < sum + count) {
          found(t) = 1;
          next(t) = {so_far.key | static_cast<DeviceCount>(i) << digit.shift, so_far.rank - sum,
                     count};
        }
        sum += count;
      }
    });
    b.for_each_thread([&](int t) {
      if (found(t)) *selected = next(t);
      each_of(b, t, bins, [&](std::int64_t i) { totals[i] = 0; });
    });
  }
};

// Number of elements of a group with the selected key; 0 if none of them is kept.
template <class U>
struct CountTies {
  static constexpr int groups = segment_groups<U>;
  const U* x;
  std::int64_t n;
  const SelectedKey* selected;

  STEN_DEVICE std::int64_t none() const { return 0; }
  STEN_DEVICE static std::int64_t combine(std::int64_t a, std::int64_t b) { return a + b; }
  STEN_DEVICE std::int64_t operator()(std::int64_t g) const {
    const SelectedKey s = *selected;
    return s.rank + 1 == s.equals ? 0 : count(g, static_cast<U>(s.key));
  }
  STEN_DEVICE std::int32_t count(std::int64_t g, U key) const {
    const Group<U> group = load_group(x, n, g);
    const int size = group_size(n, g);
    std::int32_t count = 0;
    for (int i = 0; i < 8; ++i) count += i < size && magnitude_key(group.at[i]) == key;
    return count;
  }
};

// Sets the bits of keys above the selected key, and of the first equals - rank - 1 keys that equal
// it. before[p]: equal keys before segment p; 0 if none of them is kept.
template <class U>
struct KeepAbove {
  static constexpr int threads = segment_threads;
  static constexpr int groups = segment_groups<U>;
  const U* x;
  std::int64_t n;
  const SelectedKey* selected;
  const std::int64_t* before;
  std::uint8_t* bits;

  std::int64_t blocks() const { return segments_of(n, groups); }
  std::size_t shared_bytes() const { return (2 * threads + groups) * sizeof(std::int32_t); }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t piece) const {
    const SelectedKey s = *selected;
    const U key = static_cast<U>(s.key);
    const auto stay = static_cast<std::int64_t>(s.equals - s.rank - 1);
    const std::int64_t from = before[piece], to = before[piece + 1];
    const std::int64_t first = piece * groups, left = groups_of(n) - first;
    if (from >= stay || to <= stay) {
      // The remaining elements are all kept or all dropped.
      const bool is_kept = from < stay;
      b.for_each_thread([&](int t) {
        each_of(b, t, left < groups ? left : groups, [&](std::int64_t g) {
          const Group<U> group = load_group(x, n, first + g);
          bits[first + g] = byte_of(n, first + g, [&](int i) {
            const U k = magnitude_key(group.at[i]);
            return k > key || (is_kept && k == key);
          });
        });
      });
      return;
    }
    auto scratch = b.template shared<std::int32_t>(2 * threads);
    auto offsets = b.template shared<std::int32_t>(groups);
    const CountTies<U> ties{x, n, selected};
    compact_groups(b, groups, scratch, offsets,
                   [&](int g) { return g < left ? ties.count(first + g, key) : 0; });
    b.for_each_thread([&](int t) {
      each_of(b, t, left < groups ? left : groups, [&](std::int64_t g) {
        const Group<U> group = load_group(x, n, first + g);
        std::int64_t seen = from + offsets[g];
        bits[first + g] = byte_of(n, first + g, [&](int i) {
          const U k = magnitude_key(group.at[i]);
          return k > key || (k == key && seen++ < stay);
        });
      });
    });
  }
};

struct FillBits {
  static constexpr int groups = segment_groups<std::uint8_t>;
  std::int64_t n;
  bool value;
  std::uint8_t* bits;

  STEN_DEVICE void operator()(std::int64_t g) const {
    bits[g] = byte_of(n, g, [&](int) { return value; });
  }
};

template <class U, class Grid>
void keep_largest(Grid& grid, const U* x, std::int64_t n, std::int64_t drop, std::uint8_t* bits) {
  if (drop == 0 || drop == n) {
    grid.launch(EachGroup<FillBits>{{n, drop == 0, bits}, n});
    return;
  }
  auto* selected = grid.template scratch<SelectedKey>(1);
  auto* totals = grid.template scratch<DeviceCount>(most_key_bins);
  grid.launch(ClearTotals{drop - 1, selected, totals});
  constexpr int key_bits = 8 * static_cast<int>(sizeof(U)) - 1;
  for (int above = key_bits; above > 0;) {
    const KeyDigit digit = KeyDigit::next(above);
    grid.launch(CountDigits<U>{x, n, digit, above == key_bits, selected, totals});
    grid.launch(SelectDigit{digit, selected, totals});
    above = digit.shift;
  }
  const std::int64_t* before = sums_before(grid, CountTies<U>{x, n, selected}, n);
  grid.launch(KeepAbove<U>{x, n, selected, before, bits});
}

}  // namespace sten::kernels
