// SPDX-License-Identifier: Apache-2.0
// The layouts that hold any mask: masked, bitmask, csr.
// ThreadSanitizer runs these tests, too.
#include <doctest/doctest.h>

#include "libsten/core/layout/bitmask.h"
#include "libsten/core/layout/compressed.h"
#include "libsten/core/layout/masked.h"
#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int>;

const Dense& two_by_five() {
  static const Dense x = Dense::of({2, 5}, {1, 0, 3, 4, 0, 6, 7, 0, 9, 10});
  return x;
}
const Mask& some() {
  static const Mask m = mask_of({2, 5}, {1, 1, 0, 0, 0, 0, 1, 0, 1, 1});
  return m;
}

}  // namespace

TEST_CASE("masked stores dense values, zero where pruned, beside the mask") {
  const Stored s = packed(two_by_five(), some(), "masked").save();
  CHECK(numbers<float>(s, "values") == Floats{1, 0, 0, 0, 0, 0, 7, 0, 9, 10});
  CHECK(bytes_of(s, "mask") == Ints{0b01000011, 0b00000011});
  CHECK(s.parts[0].shape == Shape{2, 5});
  CHECK(s.parts[1].shape == Shape{2});
}

TEST_CASE("bitmask stores the mask and the kept values in order, including kept zeros") {
  const Stored s = packed(two_by_five(), some(), "bitmask").save();
  CHECK(bytes_of(s, "mask") == Ints{0b01000011, 0b00000011});
  CHECK(numbers<float>(s, "values") == Floats{1, 0, 7, 9, 10});
  CHECK(s.parts[1].shape == Shape{5});
  CHECK(packed(two_by_five(), some(), "bitmask").bytes() == 2 + 5 * 4);
}

TEST_CASE("csr stores row pointers, ascending columns and values") {
  const Tensor t = packed(two_by_five(), some(), "csr");
  const Stored s = t.save();
  CHECK(numbers<std::int64_t>(s, "ptr") == std::vector<std::int64_t>{0, 2, 5});
  CHECK(numbers<std::int32_t>(s, "index") == std::vector<std::int32_t>{0, 1, 1, 3, 4});
  CHECK(numbers<float>(s, "values") == Floats{1, 0, 7, 9, 10});
  CHECK(s.layout.str() == "csr");
  CHECK(same_mask(t.stored(), some()));
  CHECK(same_bits(t.to_dense(), masked_by(two_by_five(), some())));
}

TEST_CASE("csr with dims stores the rows that dims names, batch after batch") {
  const Dense x = Dense::of({2, 2, 3}, {1, 0, 2, 0, 3, 0, 0, 0, 4, 5, 0, 6});
  SUBCASE("the columns of a matrix") {
    const Stored s = packed(Dense::of({2, 3}, {1, 0, 2, 0, 3, 0}), "csr:dims=1.0").save();
    CHECK(numbers<std::int64_t>(s, "ptr") == std::vector<std::int64_t>{0, 1, 2, 3});
    CHECK(numbers<std::int32_t>(s, "index") == std::vector<std::int32_t>{0, 1, 0});
    CHECK(numbers<float>(s, "values") == Floats{1, 3, 2});
    CHECK(s.layout.str() == "csr:dims=1.0");
  }
  SUBCASE("stacked matrices") {
    const Stored s = packed(x, "csr:dims=1.2").save();
    CHECK(numbers<std::int64_t>(s, "ptr") == std::vector<std::int64_t>{0, 2, 3, 4, 6});
    CHECK(numbers<std::int32_t>(s, "index") == std::vector<std::int32_t>{0, 2, 1, 2, 0, 2});
    CHECK(numbers<float>(s, "values") == Floats{1, 2, 3, 4, 5, 6});
  }
  SUBCASE("without dims, one row per index of dimension 0") {
    const Stored s = packed(x, "csr").save();
    CHECK(numbers<std::int64_t>(s, "ptr") == std::vector<std::int64_t>{0, 3, 6});
    CHECK(numbers<std::int32_t>(s, "index") == std::vector<std::int32_t>{0, 2, 4, 2, 3, 5});
  }
}

TEST_CASE("dense, masked and bitmask store any rank, and csr rejects rank 1") {
  for (const char* spec : {"dense", "masked", "bitmask"}) {
    CAPTURE(spec);
    CHECK(floats(packed(Dense::of({}, {3}), spec).to_dense()) == Floats{3});
    CHECK(floats(packed(Dense::of({3}, {1, 0, 2}), spec).to_dense()) == Floats{1, 0, 2});
  }
  CHECK(has(error_of([] { packed(Dense::of({3}, {1, 0, 2}), "csr"); }), "rank 1"));
}

TEST_CASE("empty and one-element tensors pack to the expected number of bytes") {
  const Dense one = Dense::of({1, 1}, {5});
  CHECK(packed(one, "masked").bytes() == 4 + 1);
  CHECK(packed(one, "bitmask").bytes() == 4 + 1);
  CHECK(packed(one, "csr").bytes() == 2 * 8 + 4 + 4);
  for (const Shape& shape : {Shape{0, 0}, Shape{0, 5}, Shape{5, 0}}) {
    const Dense none = Dense::zeros(DType::F32, shape);
    CHECK(packed(none, "masked").bytes() == 0);
    CHECK(packed(none, "bitmask").bytes() == 0);
    CHECK(packed(none, "csr").bytes() == static_cast<std::size_t>(shape[0] + 1) * 8);
    for (const char* spec : {"dense", "masked", "bitmask", "csr"})
      CHECK(packed(none, spec).to_dense().extents == shape);
  }
}

TEST_CASE("large tensors pack identically at 1 and 3 threads") {
  Dice dice(1);
  const Shape shape{311, 701};
  const Dense x = any_bits(dice, DType::F16, shape);
  const Mask m = random_mask(dice, shape, 0.3);
  for (const char* spec : {"dense", "masked", "bitmask", "csr", "csr:dims=1.0"}) {
    CAPTURE(spec);
    const Threads one(1);
    const Stored alone = packed(x, m, spec).save();
    const Threads three(3);
    const Tensor t = packed(x, m, spec);
    CHECK(same_parts(t.save(), alone));
    CHECK(same_bits(t.to_dense(), masked_by(x, m)));
    if (t.layout() != "dense") CHECK(same_mask(t.stored(), m));
  }
}

TEST_CASE("csr rejects empty shapes with 2^40 rows or columns") {
  const Index big = Index{1} << 40;
  CHECK(has(error_of([&] { packed(Dense::zeros(DType::F32, {big, 0}), "csr"); }), "rows"));
  CHECK(packed(Dense::zeros(DType::F32, {0, 7}), "csr").bytes() == 8);
  CHECK(has(error_of([&] { packed(Dense::zeros(DType::F32, {0, big}), "csr"); }), "columns"));
}
