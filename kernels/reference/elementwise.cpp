// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise.h"

#include <cmath>
#include <limits>

#include "kernels/block/elementwise/float_keys.h"

namespace sten::kernels {
namespace {

using Bytes = const std::uint8_t*;

bool bit_at(Bytes bits, std::int64_t i) { return bits[i >> 3] >> (i & 7) & 1; }

// Writes the bits of n elements from keep(i), which is called once per element, in order.
template <class F>
void write_bits(std::uint8_t* bits, std::int64_t n, F&& keep) {
  for (std::int64_t i = 0; i < n; ++i) {
    if ((i & 7) == 0) bits[i >> 3] = 0;
    if (keep(i)) bits[i >> 3] = static_cast<std::uint8_t>(bits[i >> 3] | 1u << (i & 7));
  }
}

std::int64_t count_bits(Bytes bits, std::int64_t n) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < n; ++i) count += bit_at(bits, i);
  return count;
}

template <class U>
std::int64_t histogram(const U* x, std::int64_t n, KeyBins<U> bins, std::uint32_t* counts) {
  std::int64_t below = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const U key = magnitude_key(x[i]);
    if (key < bins.first) {
      ++below;
      continue;
    }
    const std::uint64_t bin = static_cast<U>(key - bins.first) >> bins.shift;
    if (bin < static_cast<std::uint64_t>(bins.count)) ++counts[bin * histogram_lanes];
  }
  return below;
}

template <class U>
KeysBetween keys_between(const U* x, std::int64_t n, U first, U last, U* keys, std::int64_t room) {
  KeysBetween counts{0, 0};
  for (std::int64_t i = 0; i < n; ++i) {
    const U key = magnitude_key(x[i]);
    if (key < first) {
      ++counts.below;
    } else if (key <= last) {
      if (counts.inside < room) keys[counts.inside] = key;
      ++counts.inside;
    }
  }
  return counts;
}

template <class U>
std::int64_t count_key(const U* x, std::int64_t n, U key) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < n; ++i) count += magnitude_key(x[i]) == key;
  return count;
}

template <class U>
std::int64_t count_nonzero(const U* x, std::int64_t n) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < n; ++i) count += x[i] != 0;
  return count;
}

template <class U>
std::int64_t keep_above(const U* x, std::int64_t n, U boundary, std::int64_t ties,
                        std::uint8_t* bits) {
  std::int64_t equal = 0;
  write_bits(bits, n, [&](std::int64_t i) {
    const U key = magnitude_key(x[i]);
    return key > boundary || (key == boundary && equal++ < ties);
  });
  return equal;
}

template <class U>
void nonzero_bits(const U* x, std::int64_t n, std::uint8_t* bits) {
  write_bits(bits, n, [&](std::int64_t i) { return x[i] != 0; });
}

template <class U>
void mask_values(const U* x, Bytes bits, std::int64_t n, U* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = bit_at(bits, i) ? x[i] : U{0};
}

template <class U>
std::int64_t compress(const U* x, Bytes bits, std::int64_t n, U* out) {
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < n; ++i)
    if (bit_at(bits, i)) out[at++] = x[i];
  return at;
}

template <class U>
std::int64_t expand(const U* values, Bytes bits, std::int64_t n, U* out) {
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < n; ++i) out[i] = bit_at(bits, i) ? values[at++] : U{0};
  return at;
}

double sum_of(double (&s)[16]) {
  for (int half = 8; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) s[i] += s[i + half];
  return std::isnan(s[0]) ? std::numeric_limits<double>::quiet_NaN() : s[0];
}

template <class E>
MagnitudeSums sum_magnitudes(const typename E::Bits* x, Bytes bits, std::int64_t n) {
  double all[16] = {}, kept[16] = {};
  for (std::int64_t i = 0; i < n; ++i) {
    const double size = E::magnitude(x[i]);
    all[i % 16] += size;
    if (bit_at(bits, i)) kept[i % 16] += size;
  }
  return {sum_of(all), sum_of(kept)};
}

template <class E>
std::int64_t first_not_finite(const typename E::Bits* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    if (magnitude_key(x[i]) >= E::first_not_finite) return i;
  return n;
}

template <class U>
constexpr WidthKernels<U> of_width() {
  return {histogram<U>,    keys_between<U>, count_key<U>, count_nonzero<U>, keep_above<U>,
          nonzero_bits<U>, mask_values<U>,  compress<U>,  expand<U>};
}

template <FloatKind kind>
constexpr FloatKernels<typename FloatKeys<kind>::Bits> of_float() {
  return {sum_magnitudes<FloatKeys<kind>>, first_not_finite<FloatKeys<kind>>};
}

constexpr ElementwiseTable table{of_width<std::uint8_t>(),
                                 of_width<std::uint16_t>(),
                                 of_width<std::uint32_t>(),
                                 of_width<std::uint64_t>(),
                                 of_float<FloatKind::f64>(),
                                 of_float<FloatKind::f32>(),
                                 of_float<FloatKind::f16>(),
                                 of_float<FloatKind::bf16>(),
                                 of_float<FloatKind::f8_e4m3>(),
                                 of_float<FloatKind::f8_e5m2>(),
                                 count_bits};

}  // namespace

const ElementwiseTable* elementwise_reference() { return &table; }

}  // namespace sten::kernels
