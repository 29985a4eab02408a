// Decoding for devices against libsten's.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>

#include "kernels/block/floats.h"
#include "libsten/base/floats.h"

using namespace sten;
using kernels::FloatBits;
using kernels::FloatKind;

namespace {

template <class E, FloatKind kind>
void check_all() {
  using Bits = typename E::Bits;
  static_assert(std::is_same_v<Bits, typename FloatBits<kind>::Bits>);
  for (std::uint32_t i = 0; i < std::uint32_t{1} << (8 * sizeof(Bits)); ++i) {
    const float want = E::decode(static_cast<Bits>(i));
    const float got = FloatBits<kind>::decode(static_cast<Bits>(i));
    const bool same = std::bit_cast<std::uint32_t>(got) == std::bit_cast<std::uint32_t>(want);
    if (!same && !(std::isnan(got) && std::isnan(want)))
      FAIL_CHECK(i << " is " << got << ", not " << want);
  }
}

}  // namespace

TEST_CASE("devices decode all bits of small floats as libsten does") {
  check_all<F16Element, FloatKind::f16>();
  check_all<BF16Element, FloatKind::bf16>();
  check_all<F8E4M3Element, FloatKind::f8_e4m3>();
  check_all<F8E5M2Element, FloatKind::f8_e5m2>();
}
