// SPDX-License-Identifier: Apache-2.0
// 16-bit floating-point values.
#include "libsten/core/tensor/low_floats.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "kernels/floats.h"
#include "libsten/core/registry/registry.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("round_to_f16 rounds to nearest, ties to even, around every f16 value") {
  int wrong = 0;
  for (std::uint32_t h = 0; h < 0x10000; ++h) {
    const auto bits = static_cast<std::uint16_t>(h);
    const float x = kernels::decode_f16_bits(bits);
    if (std::isnan(x))
      wrong += !std::isnan(kernels::decode_f16_bits(round_to_f16(x)));
    else
      wrong += round_to_f16(x) != bits;
    if ((h & 0x7fff) >= 0x7bff) continue;  // the largest value and beyond
    const float next = kernels::decode_f16_bits(static_cast<std::uint16_t>(h + 1));
    const float middle = (x + next) / 2;  // exact
    wrong += round_to_f16(middle) != (h % 2 == 0 ? h : h + 1);
    wrong += round_to_f16(std::nextafter(middle, x)) != h;
    wrong += round_to_f16(std::nextafter(middle, next)) != h + 1;
  }
  CHECK(wrong == 0);
  CHECK(round_to_f16(65519.99F) == 0x7bff);
  CHECK(round_to_f16(65520) == 0x7c00);
  CHECK(round_to_f16(-std::numeric_limits<float>::max()) == 0xfc00);
  CHECK(round_to_f16(-0x1p-26F) == 0x8000);
}

TEST_CASE("rounding to 16-bit floats and widening keep the layout and leave integers unchanged") {
  const Dense x = Dense::of({2, 3}, {1, 0, -2.5, 0, 0x1.0008p0F, 3});
  for (const DType low : {DType::BF16, DType::F16})
    for (const Tensor& t : {Tensor(x), registry().pack(x, nonzero_mask(x), Spec("csr"))}) {
      const Tensor rounded = rounded_to(low, t), back = widened(rounded);
      CHECK(rounded.dtype() == low);
      CHECK(rounded.layout() == t.layout());
      CHECK(back.layout() == t.layout());
      CHECK(same_bits(back.to_dense(), Dense::of({2, 3}, {1, 0, -2.5, 0, 1, 3})));
    }
  CHECK(rounded_to(DType::F32, x).dtype() == DType::F32);
  const Tensor whole = Dense::zeros(DType::I64, {2});
  CHECK(widened(whole).dtype() == DType::I64);
  CHECK(rounded_to(DType::F16, whole).dtype() == DType::I64);
}
