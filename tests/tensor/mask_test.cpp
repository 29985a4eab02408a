// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/tensor/mask.h"

#include <doctest/doctest.h>

#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("a mask holds one bit per element, least significant first") {
  Mask m = Mask::none({2, 5});
  CHECK(m.bits.size() == 2);
  m.set(0, true);
  m.set(3, true);
  m.set(9, true);
  CHECK(m.bits[0] == 0x09);
  CHECK(m.bits[1] == 0x02);
  CHECK(m.count() == 3);
  CHECK((m[3] && !m[4] && m[9]));
  m.set(3, false);
  CHECK(m.bits[0] == 0x01);
}

TEST_CASE("a full mask keeps every element and leaves spare bits 0") {
  for (Index n : {0, 1, 7, 8, 9, 63, 64, 65}) {
    CAPTURE(n);
    const Mask all = Mask::all({n}), none = Mask::none({n});
    CHECK(all.size() == n);
    CHECK(all.count() == n);
    CHECK(none.count() == 0);
    CHECK(all.bits.size() == static_cast<std::size_t>((n + 7) / 8));
    if (n % 8) CHECK(all.bits[n / 8] == (1 << n % 8) - 1);
  }
  CHECK(Mask::all({}).count() == 1);
}

TEST_CASE("writing to a copy of a mask leaves the original unchanged") {
  const Mask a = Mask::none({8});
  Mask b = a;
  b.set(1, true);
  CHECK(a.count() == 0);
  CHECK(b.count() == 1);
}

TEST_CASE("count_bits is correct for every range of positions") {
  Dice dice(3);
  const Mask m = random_mask(dice, {150}, 0.5);
  for (Index begin = 0; begin <= 150; ++begin) {
    Index expected = 0;
    for (Index end = begin; end <= 150; ++end) {
      if (count_bits(m.bits.data(), begin, end) != expected)
        FAIL_CHECK("[" << begin << ", " << end << ")");
      if (end < 150) expected += m[end];
    }
  }
}
