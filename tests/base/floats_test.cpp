// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/floats.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

struct Format {
  int exponent_bits, fraction_bits;
  bool has_infinity;  // otherwise only the largest pattern is NaN
};

// The value by the definition of the format.
double value_of(const Format& f, unsigned bits) {
  const int e = static_cast<int>(bits >> f.fraction_bits & ((1u << f.exponent_bits) - 1));
  const int fraction = static_cast<int>(bits & ((1u << f.fraction_bits) - 1));
  const bool negative = bits >> (f.exponent_bits + f.fraction_bits) & 1;
  const int top = (1 << f.exponent_bits) - 1, bias = top / 2, one = 1 << f.fraction_bits;
  double v = e == 0 ? std::ldexp(fraction, 1 - bias - f.fraction_bits)
                    : std::ldexp(one + fraction, e - bias - f.fraction_bits);
  if (e == top && f.has_infinity) v = fraction ? NAN : INFINITY;
  if (e == top && !f.has_infinity && fraction == one - 1) v = NAN;
  return negative ? -v : v;
}

template <class E>
void check_all(const Format& f) {
  for (unsigned bits = 0; bits < 1u << 8 * sizeof(typename E::Bits); ++bits) {
    const double expected = value_of(f, bits);
    const double decoded = E::decode(static_cast<typename E::Bits>(bits));
    const bool same = std::isnan(expected)
                          ? std::isnan(decoded)
                          : decoded == expected && std::signbit(decoded) == std::signbit(expected);
    if (!same) FAIL_CHECK("bits " << bits << ": " << decoded << ", not " << expected);
  }
}

// Bits without the sign order as |x| does, up to infinity or the largest value.
template <class E>
void check_order() {
  using Bits = typename E::Bits;
  constexpr unsigned signs = 1u << (8 * sizeof(Bits) - 1);
  for (unsigned bits = 1; bits < signs; ++bits) {
    const auto b = static_cast<Bits>(bits);
    if (std::isnan(E::decode(b))) break;
    if (!(E::decode(static_cast<Bits>(bits - 1)) < E::decode(b))) FAIL_CHECK("bits " << bits);
    if (E::decode(static_cast<Bits>(bits | signs)) != -E::decode(b)) FAIL_CHECK("sign of " << bits);
  }
}

}  // namespace

TEST_CASE("selected bit patterns of 8-bit and 16-bit floats decode to their values") {
  CHECK(FloatBits<FloatKind::f16>::decode(0x3c00) == 1.0f);
  CHECK(FloatBits<FloatKind::f16>::decode(0xc000) == -2.0f);
  CHECK(FloatBits<FloatKind::f16>::decode(0x7bff) == 65504.0f);
  CHECK(FloatBits<FloatKind::f16>::decode(0x0001) == 0x1p-24f);
  CHECK(FloatBits<FloatKind::bf16>::decode(0x3f80) == 1.0f);
  CHECK(FloatBits<FloatKind::bf16>::decode(0xbfc0) == -1.5f);
  CHECK(FloatBits<FloatKind::f8_e4m3>::decode(0x38) == 1.0f);
  CHECK(FloatBits<FloatKind::f8_e4m3>::decode(0x7e) == 448.0f);
  CHECK(FloatBits<FloatKind::f8_e4m3>::decode(0x01) == 0x1p-9f);
  CHECK(std::isnan(FloatBits<FloatKind::f8_e4m3>::decode(0xff)));
  CHECK(FloatBits<FloatKind::f8_e5m2>::decode(0x3c) == 1.0f);
  CHECK(FloatBits<FloatKind::f8_e5m2>::decode(0x7b) == 57344.0f);
  CHECK(FloatBits<FloatKind::f8_e5m2>::decode(0xfc) == -INFINITY);
}

TEST_CASE("every bit pattern of 8-bit and 16-bit floats decodes to the value its format defines") {
  SUBCASE("F16") { check_all<FloatBits<FloatKind::f16>>({5, 10, true}); }
  SUBCASE("BF16") { check_all<FloatBits<FloatKind::bf16>>({8, 7, true}); }
  SUBCASE("F8_E5M2") { check_all<FloatBits<FloatKind::f8_e5m2>>({5, 2, true}); }
  SUBCASE("F8_E4M3") { check_all<FloatBits<FloatKind::f8_e4m3>>({4, 3, false}); }
}

TEST_CASE("float bits without the sign bit sort in the order of absolute values") {
  check_order<FloatBits<FloatKind::f16>>();
  check_order<FloatBits<FloatKind::bf16>>();
  check_order<FloatBits<FloatKind::f8_e5m2>>();
  check_order<FloatBits<FloatKind::f8_e4m3>>();
}

TEST_CASE("with_float decodes each prunable dtype from bits of the dtype's width") {
  for (DType t : prunable_dtypes())
    CHECK(with_float(t, []<class E>(E) { return static_cast<int>(sizeof(typename E::Bits)); }) ==
          width_of(t));
  CHECK(FloatBits<FloatKind::f64>::decode(0x3fb999999999999au) == 0.1);
  CHECK(FloatBits<FloatKind::f32>::decode(0x40490fdbu) == 3.14159274f);
}
