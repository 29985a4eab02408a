// SPDX-License-Identifier: Apache-2.0
// ElementwiseFunctions (functions.h) over a Grid.
#pragma once
#include "kernels/block/elementwise/compress.h"
#include "kernels/block/elementwise/magnitude_sums.h"
#include "kernels/block/elementwise/select_largest.h"

namespace sten::kernels {

template <class U>
struct NonzeroBits {
  static constexpr int groups = segment_groups<U>;
  const U* x;
  std::int64_t n;
  std::uint8_t* bits;

  STEN_DEVICE void operator()(std::int64_t g) const {
    const Group<U> group = load_group(x, n, g);
    bits[g] = byte_of(n, g, [&](int i) { return group.at[i] != 0; });
  }
};

template <class U>
struct MaskValues {
  static constexpr int groups = segment_groups<U>;
  const U* x;  // may be out
  std::int64_t n;
  const std::uint8_t* bits;
  U* out;

  STEN_DEVICE void operator()(std::int64_t g) const {
    Group<U> group = load_group(x, n, g);
    const unsigned byte = bits[g];
    for (int i = 0; i < 8; ++i) group.at[i] = byte >> i & 1 ? group.at[i] : U{0};
    store_group(out, n, g, group);
  }
};

// Counts elements x with (x & mask) == key; with is_other, the remaining elements.
template <class U>
struct CountMasked {
  static constexpr int groups = segment_groups<U>;
  const U* x;
  std::int64_t n;
  U mask, key;
  bool is_other;

  STEN_DEVICE std::int64_t none() const { return 0; }
  STEN_DEVICE static std::int64_t combine(std::int64_t a, std::int64_t b) { return a + b; }
  STEN_DEVICE std::int64_t operator()(std::int64_t g) const {
    const Group<U> group = load_group(x, n, g);
    const int size = group_size(n, g);
    std::int32_t count = 0;
    for (int i = 0; i < 8; ++i)
      count += i < size && (static_cast<U>(group.at[i] & mask) == key) != is_other;
    return count;
  }
};

template <class Grid>
struct ElementwiseOn {
  template <class U>
  static const U* as(const Elements& x) {
    return static_cast<const U*>(x.x);
  }

  static void keep_largest(Elements x, std::int64_t drop, std::uint8_t* bits, Stream stream) {
    Grid grid(stream);
    with_unsigned(x.width,
                  [&]<class U>(U) { kernels::keep_largest(grid, as<U>(x), x.n, drop, bits); });
  }
  static void nonzero_bits(Elements x, std::uint8_t* bits, Stream stream) {
    with_unsigned(x.width, [&]<class U>(U) {
      Grid(stream).launch(EachGroup<NonzeroBits<U>>{{as<U>(x), x.n, bits}, x.n});
    });
  }
  static void mask_values(Elements x, const std::uint8_t* bits, void* out, Stream stream) {
    with_unsigned(x.width, [&]<class U>(U) {
      const MaskValues<U> mask{as<U>(x), x.n, bits, static_cast<U*>(out)};
      Grid(stream).launch(EachGroup<MaskValues<U>>{mask, x.n});
    });
  }
  static void compress(Elements x, const std::uint8_t* bits, void* values, Stream stream) {
    Grid grid(stream);
    with_unsigned(x.width, [&]<class U>(U) {
      const std::int64_t* before = sums_before(grid, CountBits<segment_groups<U>>{bits, x.n}, x.n);
      grid.launch(Compress<U>{{x.n, bits, before}, as<U>(x), static_cast<U*>(values)});
    });
  }
  static void expand(const void* values, int width, const std::uint8_t* bits, std::int64_t n,
                     void* out, Stream stream) {
    Grid grid(stream);
    with_unsigned(width, [&]<class U>(U) {
      const std::int64_t* before = sums_before(grid, CountBits<segment_groups<U>>{bits, n}, n);
      grid.launch(
          Expand<U>{{n, bits, before}, static_cast<const U*>(values), static_cast<U*>(out)});
    });
  }
  static std::int64_t count_bits(const std::uint8_t* bits, std::int64_t n, Stream stream) {
    Grid grid(stream);
    return reduce_all(grid, CountBits<1024>{bits, n}, n);
  }
  static std::int64_t count_key(Elements x, std::uint64_t key, Stream stream) {
    Grid grid(stream);
    return with_unsigned(x.width, [&]<class U>(U) {
      const CountMasked<U> count{as<U>(x), x.n, greatest_key<U>, static_cast<U>(key), false};
      return reduce_all(grid, count, x.n);
    });
  }
  static std::int64_t count_nonzero(Elements x, Stream stream) {
    Grid grid(stream);
    return with_unsigned(x.width, [&]<class U>(U) {
      const CountMasked<U> count{as<U>(x), x.n, static_cast<U>(~U{0}), U{0}, true};
      return reduce_all(grid, count, x.n);
    });
  }
  static std::int64_t first_not_finite(Elements x, FloatKind kind, Stream stream) {
    Grid grid(stream);
    return with_keys(kind, [&]<class E>(E) {
      return reduce_all(grid, FirstNotFinite<E>{as<typename E::Bits>(x), x.n}, x.n);
    });
  }
  static void sum_magnitudes(Elements x, FloatKind kind, const std::uint8_t* bits,
                             std::int64_t piece, double* sums, Stream stream) {
    with_keys(kind, [&]<class E>(E) {
      Grid(stream).launch(SumSegments<E>{as<typename E::Bits>(x), x.n, bits, piece, sums});
    });
  }
};

template <class Grid>
ElementwiseFunctions elementwise_functions() {
  using On = ElementwiseOn<Grid>;
  return {On::keep_largest,     On::nonzero_bits,  On::mask_values, On::compress,
          On::expand,           On::count_bits,    On::count_key,   On::count_nonzero,
          On::first_not_finite, On::sum_magnitudes};
}

}  // namespace sten::kernels
