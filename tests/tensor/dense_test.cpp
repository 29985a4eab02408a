// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/tensor/dense.h"

#include <doctest/doctest.h>

#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("packing dense zeroes the elements that the mask drops and copies the others") {
  const Dense x = Dense::of({2, 3}, {1, -2, 3, 4, 5, -6});
  const Dense y = Dense::pack(x, mask_of({2, 3}, {1, 0, 0, 1, 1, 1}));
  CHECK(floats(y) == std::vector<float>{1, 0, 0, 4, 5, -6});
  CHECK(floats(x) == std::vector<float>{1, -2, 3, 4, 5, -6});
}

TEST_CASE(
    "packed dense values are bit-identical if kept and all bits 0 if dropped, in every dtype") {
  Dice dice(1);
  for (DType t : movable_dtypes()) {
    CAPTURE(name_of(t));
    const Dense x = any_bits(dice, t, {13, 11});
    const Mask m = random_mask(dice, {13, 11}, 0.5);
    CHECK(same_bits(Dense::pack(x, m), masked_by(x, m)));
    CHECK(same_bits(Dense::pack(x, Mask::all({13, 11})), x));
    CHECK(same_bits(Dense::pack(x, Mask::none({13, 11})), Dense::zeros(t, {13, 11})));
  }
}

TEST_CASE("nonzero_mask treats -0.0 and NaN as nonzero") {
  const Dense x = Dense::of({6}, {0.0f, -0.0f, NAN, 1e-45f, -INFINITY, 0.0f});
  CHECK(ones_of(nonzero_mask(x)) == std::vector<int>{0, 1, 1, 1, 1, 0});
  CHECK(nonzero_mask(Dense::zeros(DType::I64, {9})).count() == 0);
  CHECK(nonzero_mask(Dense::zeros(DType::U8, {0, 4})).count() == 0);
}

TEST_CASE("packing dense supports scalars and empty tensors") {
  CHECK(floats(Dense::pack(Dense::of({}, {3}), Mask::all({}))) == std::vector<float>{3});
  CHECK(Dense::pack(Dense::zeros(DType::F16, {0, 3}), Mask::all({0, 3})).size() == 0);
}

TEST_CASE("a mask or values that do not match the shape are rejected") {
  const Dense x = Dense::zeros(DType::F32, {2, 3});
  CHECK(has(error_of([&] { Dense::pack(x, Mask::all({3, 2})); }), "shape [3, 2]"));
  CHECK(fault_of([&] { Dense::pack(x, Mask::all({6})); }) == Fault::usage);
  CHECK(error_of([&] { Dense::pack(x, Mask{{2, 3}, Array<std::uint8_t>()}); }) != "");
  CHECK(error_of([&] { Dense::pack(x, Mask{{2, 3}, Array<std::uint8_t>{0x7f}}); }) != "");
  CHECK(error_of([&] { Dense::pack(Dense{{2, 3}, {}}, Mask::all({2, 3})); }) != "");
  CHECK(error_of([&] { Dense::of({2, 2}, {1, 2, 3}); }) != "");
}

TEST_CASE("dense rejects sub-byte dtypes and sizes beyond memory") {
  CHECK(has(error_of([] { Dense::zeros(DType::F4, {8}); }), "F4"));
  CHECK(has(error_of([] { Dense::zeros(DType::F6_E2M3, {8}); }), "F6_E2M3"));
  CHECK(has(error_of([] { Dense::zeros(DType::F64, {Index{1} << 61}); }), "F64"));
  CHECK(has(error_of([] { Values::uninitialized(DType::F32, Index{1} << 62); }), "F32"));
}

TEST_CASE("put() copies one element without changing its neighbours") {
  Dense x = Dense::of({3}, {1, 2, 3});
  const Dense y = Dense::of({2}, {8, 9});
  x.values.put(1, y.values, 1);
  CHECK(floats(x) == std::vector<float>{1, 9, 3});
}
