// SPDX-License-Identifier: Apache-2.0
// FloatKernels of kernels/elementwise.h.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "kernels/families.h"
#include "libsten/core/base/floats.h"
#include "tests/kernels/fenced.h"

using namespace sten::kernels;
using namespace sten::testing;

namespace {

using F64 = FloatBits<FloatKind::f64>;
using F32 = FloatBits<FloatKind::f32>;
using F16 = FloatBits<FloatKind::f16>;
using BF16 = FloatBits<FloatKind::bf16>;
using F8E4M3 = FloatBits<FloatKind::f8_e4m3>;
using F8E5M2 = FloatBits<FloatKind::f8_e5m2>;

std::vector<std::uint64_t> bits_of(MagnitudeSums s) {
  return {std::bit_cast<std::uint64_t>(s.all), std::bit_cast<std::uint64_t>(s.kept)};
}

template <class E>
MagnitudeSums sums(const ElementwiseTable& table, const std::vector<typename E::Bits>& x,
                   const Bytes& mask) {
  Fenced<typename E::Bits> in(x);
  Fenced<std::uint8_t> bits(mask);
  return table.of<E::kind>().sum_magnitudes(in.data(), bits.data(),
                                            static_cast<std::int64_t>(x.size()));
}

template <class E>
std::int64_t first_not_finite(const ElementwiseTable& table,
                              const std::vector<typename E::Bits>& x) {
  Fenced<typename E::Bits> in(x);
  return table.of<E::kind>().first_not_finite(in.data(), static_cast<std::int64_t>(x.size()));
}

std::uint64_t f64(double v) { return std::bit_cast<std::uint64_t>(v); }

}  // namespace

TEST_CASE("magnitudes are summed in 16 interleaved partial sums") {
  // 2^53 + 1 is not a double: an addend of 1 is lost only in the partial sum that holds 2^53.
  const double big = 0x1p53;
  std::vector<std::uint64_t> x(17, 0);
  x[0] = f64(-big);
  each_elementwise([&](const ElementwiseTable& table) {
    std::vector<std::uint64_t> same = x, other = x;
    same[16] = f64(1);
    CHECK(sums<F64>(table, same, {0xff, 0xff, 1}).all == big);
    other[1] = f64(-1);
    other[3] = f64(1);
    CHECK(sums<F64>(table, other, {0xff, 0xff, 1}).all == big + 2);
    CHECK(sums<F64>(table, other, {0xf7, 0xff, 1}).kept == big);
    CHECK(sums<F64>(table, other, {0xfe, 0xff, 1}).kept == 2);
  });
}

TEST_CASE("non-finite values are found, and enter the kept sum only if they are kept") {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<std::uint16_t> x{0x3c00, 0xc000, 0xfc00, 0x7c01};  // 1, -2, -infinity, NaN
  each_elementwise([&](const ElementwiseTable& table) {
    CHECK(first_not_finite<F16>(table, x) == 2);
    CHECK(std::isnan(sums<F16>(table, x, {0b0111}).all));
    CHECK(sums<F16>(table, x, {0b0111}).kept == infinity);
    CHECK(sums<F16>(table, x, {0b1011}).kept != sums<F16>(table, x, {0b1011}).kept);
    CHECK(sums<F16>(table, x, {0b0011}).kept == 3);
    CHECK(first_not_finite<F8E4M3>(table, {0x7e, 0xfe, 0xff, 0x7f}) == 2);
    CHECK(first_not_finite<F8E4M3>(table, {0x7e, 0xfe}) == 2);
    CHECK(sums<F8E4M3>(table, {0x7e, 0x81}, {0b11}).all == 448 + 0x1p-9);
  });
}

TEST_CASE_TEMPLATE("magnitudes of all bit patterns match the decoded values", E, F16, BF16, F8E4M3,
                   F8E5M2) {
  using U = typename E::Bits;
  each_elementwise([&](const ElementwiseTable& table) {
    std::int64_t wrong = 0;
    for (unsigned b = 0; b <= static_cast<U>(~U{0}); ++b) {
      const U x = static_cast<U>(b);
      const double size = std::abs(static_cast<double>(E::decode(x)));
      const std::uint8_t bits = 1;
      const MagnitudeSums s = table.of<E::kind>().sum_magnitudes(&x, &bits, 1);
      const bool same = std::isnan(size) ? std::isnan(s.all) : s.all == size;
      const bool finite = table.of<E::kind>().first_not_finite(&x, 1) == 1;
      wrong += !same || finite != std::isfinite(size);
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE_TEMPLATE("sums of magnitudes are bit-identical under every ISA", E, F64, F32, F16, BF16,
                   F8E4M3, F8E5M2) {
  using U = typename E::Bits;
  std::mt19937_64 random(7);
  for (const std::int64_t n : elementwise_sizes) {
    CAPTURE(n);
    for (const std::vector<U>& x : random_elements<U>(n, random)) {
      std::int64_t first = 0;
      while (first < n && std::isfinite(E::decode(x[first]))) ++first;
      for (const Bytes& mask : random_masks(n, random)) {
        const auto expected = bits_of(sums<E>(*elementwise_reference(), x, mask));
        each_elementwise([&](const ElementwiseTable& table) {
          CHECK(bits_of(sums<E>(table, x, mask)) == expected);
        });
      }
      each_elementwise(
          [&](const ElementwiseTable& table) { CHECK(first_not_finite<E>(table, x) == first); });
    }
  }
}
