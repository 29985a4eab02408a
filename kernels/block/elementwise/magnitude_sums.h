// SPDX-License-Identifier: Apache-2.0
// FloatKernels of kernels/elementwise.h on a device: sums of magnitudes, and the first element that
// is not finite.
#pragma once
#include <limits>

#include "kernels/block/elementwise/float_keys.h"
#include "kernels/block/elementwise/segments.h"

namespace sten::kernels {

// sums[2 * p] and sums[2 * p + 1]: of all elements of segment p, and of the kept ones. The order of
// the partial sums is fixed, so 16 threads have one partial sum each of either, while the other
// threads load the next elements.
template <class E>
struct SumSegments {
  using U = typename E::Bits;
  static constexpr int threads = 256;
  static constexpr int sums_each = 16, adders = 2 * sums_each, tile = 2048;
  const U* x;
  std::int64_t n;
  const std::uint8_t* bits;
  std::int64_t piece;
  double* sums;

  std::int64_t blocks() const { return (n + piece - 1) / piece; }
  std::size_t shared_bytes() const {
    return 2 * tile * sizeof(double) + 2 * (tile / 8) + adders * sizeof(double);
  }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t p) const {
    auto sizes = b.template shared<double>(2 * tile);
    auto kept = b.template shared<std::uint8_t>(2 * (tile / 8));
    auto of = b.template shared<double>(adders);
    const std::int64_t begin = p * piece, end = begin + piece < n ? begin + piece : n;
    const std::int64_t tiles = (end - begin + tile - 1) / tile;
    const auto size_of = [&](std::int64_t k) {
      const std::int64_t left = end - begin - k * tile;
      return left < tile ? static_cast<int>(left) : tile;
    };
    auto sum = b.template per_thread<double>();
    b.for_each_thread([&](int t) { sum(t) = 0; });
    for (std::int64_t k = 0; k <= tiles; ++k) {
      const int to = static_cast<int>(k % 2), from = 1 - to;
      b.for_each_thread([&](int t) {
        if (t >= adders && k < tiles) {
          const std::int64_t first = begin + k * tile;
          const int count = size_of(k);
          for (int i = t - adders; i < count; i += threads - adders)
            sizes[to * tile + i] = E::magnitude(x[first + i]);
          for (int i = t - adders; i < (count + 7) / 8; i += threads - adders)
            kept[to * (tile / 8) + i] = bits[first / 8 + i];
        }
        if (t < adders && k > 0) {
          const int count = size_of(k - 1);
          const int shift = t % 8;
          double s = sum(t);
          for (int i = t % sums_each; i < count; i += sums_each)
            if (t < sums_each || (kept[from * (tile / 8) + i / 8] >> shift & 1))
              s += sizes[from * tile + i];
          sum(t) = s;
        }
      });
    }
    b.for_each_thread([&](int t) {
      if (t < adders) of[t] = sum(t);
    });
    for (int half = sums_each / 2; half > 0; half /= 2)
      b.for_each_thread([&](int t) {
        if (t < adders && t % sums_each < half) of[t] = of[t] + of[t + half];
      });
    b.for_each_thread([&](int t) {
      if (t >= adders || t % sums_each != 0) return;
      const double s = of[t];
      sums[2 * p + t / sums_each] = s != s ? std::numeric_limits<double>::quiet_NaN() : s;
    });
  }
};

// Index of the first infinity or NaN; n if all elements are finite.
template <class E>
struct FirstNotFinite {
  using U = typename E::Bits;
  static constexpr int groups = segment_groups<U>;
  const U* x;
  std::int64_t n;

  STEN_DEVICE std::int64_t none() const { return n; }
  STEN_DEVICE static std::int64_t combine(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
  STEN_DEVICE std::int64_t operator()(std::int64_t g) const {
    const Group<U> group = load_group(x, n, g);
    const int size = group_size(n, g);
    int first = 8;
    for (int i = 7; i >= 0; --i)
      if (i < size && magnitude_key(group.at[i]) >= E::first_not_finite) first = i;
    return first < 8 ? 8 * g + first : n;
  }
};

}  // namespace sten::kernels
