// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/layout/nm.h"

#include <doctest/doctest.h>

#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int>;

}  // namespace

TEST_CASE("nm stores n values and their positions for every block") {
  const Stored s = packed(Dense::of({1, 8}, {1, 0, 2, 0, 0, 3, 0, 4}), "nm:n=2,m=4").save();
  CHECK(s.layout.str() == "nm:n=2,m=4");
  CHECK(numbers<float>(s, "values") == Floats{1, 2, 3, 4});
  CHECK(s.parts[0].shape == Shape{1, 2, 2});
  CHECK(bytes_of(s, "pos") == Ints{0 | 2 << 2 | 1 << 4 | 3 << 6});
  CHECK(s.parts[1].shape == Shape{1, 1});
}

TEST_CASE("nm fills a block of fewer than n kept elements with the lowest free positions") {
  const Stored s = packed(Dense::of({1, 8}, {0, 0, 0, 5, 6, 0, 0, 0}), "nm:n=2,m=4").save();
  CHECK(numbers<float>(s, "values") == Floats{0, 5, 6, 0});
  CHECK(bytes_of(s, "pos") == Ints{0 | 3 << 2 | 0 << 4 | 1 << 6});
  const Tensor empty = packed(Dense::zeros(DType::F32, {1, 4}), "nm:n=3,m=4");
  CHECK(bytes_of(empty.save(), "pos") == Ints{0 | 1 << 2 | 2 << 4});
  CHECK(ones_of(empty.stored()) == Ints{1, 1, 1, 0});
}

TEST_CASE("nm stores a kept zero at its position") {
  const Dense x = Dense::of({1, 4}, {0, 0, 0, 5});
  const Tensor t = packed(x, mask_of({1, 4}, {0, 0, 1, 1}), "nm:n=2,m=4");
  CHECK(bytes_of(t.save(), "pos") == Ints{2 | 3 << 2});
  CHECK(numbers<float>(t.save(), "values") == Floats{0, 5});
}

TEST_CASE("nm pads a short last block, and filler positions may lie in the padding") {
  const Tensor t = packed(Dense::of({1, 5}, {1, 2, 0, 0, 3}), "nm:n=2,m=4");
  CHECK(numbers<float>(t.save(), "values") == Floats{1, 2, 3, 0});
  CHECK(bytes_of(t.save(), "pos") == Ints{0 | 1 << 2 | 0 << 4 | 1 << 6});
  CHECK(floats(t.to_dense()) == Floats{1, 2, 0, 0, 3});
  CHECK(ones_of(t.stored()) == Ints{1, 1, 0, 0, 1});
  CHECK(t.padding() == doctest::Approx(8.0 / 5 - 1));
}

TEST_CASE("the nm positions of each row start at a byte boundary") {
  const Stored s = packed(Dense::of({2, 4}, {0, 1, 0, 2, 3, 0, 0, 4}), "nm:n=2,m=4").save();
  CHECK(bytes_of(s, "pos") == Ints{1 | 3 << 2, 0 | 3 << 2});
  // 3 blocks of 3 positions, 2 bits each: 18 bits, 3 bytes a row.
  const Tensor three = packed(Dense::zeros(DType::U8, {4, 9}), "nm:n=3,m=3");
  CHECK(three.save().parts[1].shape == Shape{4, 3});
  CHECK(bytes_of(packed(Dense::zeros(DType::U8, {1, 3}), "nm:n=3,m=3").save(), "pos") ==
        Ints{0 | 1 << 2 | 2 << 4});
}

TEST_CASE("an nm position takes ceil(log2(m)) bits") {
  for (const auto& [m, bits] : std::vector<std::pair<Index, Index>>{{1, 0},
                                                                    {2, 1},
                                                                    {3, 2},
                                                                    {4, 2},
                                                                    {5, 3},
                                                                    {8, 3},
                                                                    {9, 4},
                                                                    {256, 8},
                                                                    {257, 9},
                                                                    {65536, 16}}) {
    const std::string spec = fmt::format("nm:n=1,m={}", m);
    const Dense x = Dense::zeros(DType::U8, {2, 8 * m});
    CHECK(packed(x, spec).save().parts[1].shape == Shape{2, bits});
  }
  Dense x = Dense::zeros(DType::U8, {1, 65536});
  x.values.mutate<std::uint8_t>()[65535] = 7;
  const Tensor t = packed(x, "nm:n=1,m=65536");
  CHECK(bytes_of(t.save(), "pos") == Ints{255, 255});
  CHECK(same_bits(t.to_dense(), x));
}

TEST_CASE("nm with axis 0 stores the parts of the transposed tensor") {
  const Stored down =
      packed(Dense::of({4, 2}, {1, 0, 0, 3, 2, 0, 0, 4}), "nm:n=2,m=4,axis=0").save();
  const Stored along = packed(Dense::of({2, 4}, {1, 0, 2, 0, 0, 3, 0, 4}), "nm:n=2,m=4").save();
  CHECK(down.layout.str() == "nm:n=2,m=4,axis=0");
  CHECK(numbers<float>(down, "values") == numbers<float>(along, "values"));
  CHECK(bytes_of(down, "pos") == bytes_of(along, "pos"));
  CHECK(down.parts[0].shape == Shape{2, 1, 2});
}

TEST_CASE("dims names the rows and columns of nm, and batch dimensions lead in every part") {
  const Dense x = Dense::of({2, 2, 4}, {1, 0, 2, 0, 0, 3, 0, 4, 5, 6, 0, 0, 0, 0, 7, 8});
  const Stored s = packed(x, "nm:n=2,m=4,dims=1.2").save();
  CHECK(s.layout.str() == "nm:n=2,m=4,dims=1.2");
  CHECK(s.parts[0].shape == Shape{2, 2, 1, 2});
  CHECK(s.parts[1].shape == Shape{2, 2, 1});
  CHECK(numbers<float>(s, "values") == Floats{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(bytes_of(s, "pos") == Ints{0 | 2 << 2, 1 | 3 << 2, 0 | 1 << 2, 2 | 3 << 2});
  const Dense wt = Dense::of({4, 2}, {1, 0, 0, 3, 2, 0, 0, 4});  // stored [in, out]
  const Stored t = packed(wt, "nm:n=2,m=4,dims=1.0").save();
  CHECK(numbers<float>(t, "values") == Floats{1, 2, 3, 4});
  CHECK(same_bits(registry().load(t).to_dense(), wt));
}

TEST_CASE("nm rejects a block with more than n kept elements and reports its position") {
  const Dense x = Dense::of({2, 8}, {1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0});
  CHECK(has(error_of([&] { packed(x, "nm:n=2,m=4"); }),
            "cannot hold 3 kept positions in the block of 4 elements of row 1"));
  CHECK(has(error_of([&] { packed(x, "nm:n=2,m=4"); }), "from column 4"));
  CHECK(error_of([&] { packed(x, "nm:n=3,m=4"); }) == "");
}

TEST_CASE("nm packs empty and one-element tensors to the expected number of bytes") {
  for (const Shape& shape : {Shape{0, 0}, Shape{0, 5}, Shape{5, 0}, Shape{3, 0, 2}}) {
    const Tensor t = packed(Dense::zeros(DType::F32, shape), "nm:n=2,m=4");
    CHECK(t.bytes() == 0);
    CHECK(t.to_dense().extents == shape);
    CHECK(t.stored().count() == 0);
  }
  CHECK(packed(Dense::of({1, 1}, {5}), "nm:n=2,m=4").bytes() == 2 * 4 + 1);
  CHECK(packed(Dense::of({1, 1}, {5}), "nm:n=1,m=1").bytes() == 4);
}

TEST_CASE("nm rejects invalid layout specs") {
  for (const char* wrong : {"nm", "nm:n=2", "nm:n=5,m=4", "nm:n=0,m=4", "nm:n=1,m=0",
                            "nm:n=-1,m=-1", "nm:n=2,m=4,axis=2", "nm:n=2,m=65537",
                            "nm:n=2,m=4,dims=0.0", "nm:n=2,m=4,g=1", "nm:n=2,m=x"}) {
    CAPTURE(wrong);
    CHECK(fault_of([&] { registry().check_layout(Spec::parse(wrong)); }) == Fault::usage);
  }
}
