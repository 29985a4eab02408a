// SPDX-License-Identifier: Apache-2.0
// ThreadSanitizer runs these tests, too.
#include "libsten/core/layout/nmg.h"

#include <doctest/doctest.h>

#include "libsten/core/sparsify/nmg_fit.h"
#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int>;

Mask fitted(const Dense& x, std::string_view spec) {
  return NmgFit::make(Spec::parse(spec)).select(x, {});
}

Dense transposed(const Dense& x) {
  const Index rows = x.extents[0], cols = x.extents[1];
  Dense y = Dense::zeros(x.dtype(), {cols, rows});
  for (Index r = 0; r < rows; ++r)
    for (Index c = 0; c < cols; ++c) y.values.put(c * rows + r, x.values, r * cols + c);
  return y;
}

}  // namespace

TEST_CASE("n:m:g stores the strips of each pattern with their columns") {
  // Patterns of 1:2 are 0 and 1.
  const Stored s = packed(Dense::of({2, 2}, {1, 0, 0, 2}), "nmg:n=1,m=2,g=1").save();
  CHECK(s.layout.str() == "nmg:n=1,m=2,g=1");
  CHECK(numbers<float>(s, "values") == Floats{1, 2});
  CHECK(bytes_of(s, "index") == Ints{0, 1});
  CHECK(s.parts[0].shape == Shape{1, 1, 2, 1, 1});
  CHECK(s.parts[1].shape == Shape{1, 1, 2, 1});
  const Stored r = packed(Dense::of({2, 2}, {0, 1, 2, 0}), "nmg:n=1,m=2,g=1").save();
  CHECK(numbers<float>(r, "values") == Floats{1, 2});
  CHECK(bytes_of(r, "index") == Ints{1, 0});
}

TEST_CASE("n:m:g stores the columns of a group in ascending order") {
  const Dense x = Dense::of({2, 4}, {0, 1, 0, 3, 2, 0, 4, 0});
  const Stored s = packed(x, "nmg:n=1,m=2,g=2").save();
  CHECK(bytes_of(s, "index") == Ints{1, 3, 0, 2});
  CHECK(numbers<float>(s, "values") == Floats{1, 3, 2, 4});
}

TEST_CASE("n:m:g pads ragged edges with zero rows and columns") {
  const Dense x = Dense::of({3, 3}, {1, 0, 5, 0, 2, 0, 3, 0, 0});
  const Tensor t = packed(x, "nmg:n=1,m=2,g=1");
  const Stored s = t.save();
  CHECK(s.parts[1].shape == Shape{2, 2, 2, 1});
  CHECK(bytes_of(s, "index") == Ints{0, 1, 0, 1, 0, 1, 0, 1});
  CHECK(numbers<float>(s, "values") == Floats{1, 2, 5, 0, 3, 0, 0, 0});
  CHECK(same_bits(t.to_dense(), x));
  CHECK(ones_of(t.stored()) == Ints{1, 0, 1, 0, 1, 0, 1, 0, 1});
  CHECK(t.padding() == doctest::Approx(16.0 / 9 - 1));
}

TEST_CASE("n:m:g with axis 1 stores the parts of the transposed tensor") {
  Dice dice(5);
  const Dense x = normals(dice, {9, 14});
  const Mask m = fitted(x, "nmg:n=2,m=4,g=2");
  const Dense kept = masked_by(x, m);
  const Stored a = packed(kept, "nmg:n=2,m=4,g=2").save();
  const Stored b = packed(transposed(kept), "nmg:n=2,m=4,g=2,axis=1").save();
  CHECK(b.layout.str() == "nmg:n=2,m=4,g=2,axis=1");
  CHECK(b.shape == Shape{14, 9});
  for (int p = 0; p < 2; ++p) {
    CHECK(a.parts[p].shape == b.parts[p].shape);
    CHECK(numbers<std::uint8_t>(a.parts[p]) == numbers<std::uint8_t>(b.parts[p]));
  }
}

TEST_CASE("dims names the rows and columns of n:m:g, and batch dimensions lead in both parts") {
  const Dense x = Dense::of({2, 2, 2}, {1, 0, 0, 2, 0, 3, 4, 0});
  const Stored s = packed(x, "nmg:n=1,m=2,g=1,dims=1.2").save();
  CHECK(s.parts[0].shape == Shape{2, 1, 1, 2, 1, 1});
  CHECK(s.parts[1].shape == Shape{2, 1, 1, 2, 1});
  CHECK(numbers<float>(s, "values") == Floats{1, 2, 3, 4});
  CHECK(bytes_of(s, "index") == Ints{0, 1, 1, 0});
  CHECK(same_bits(registry().load(s).to_dense(), x));
  const Stored t = packed(Dense::of({2, 2}, {0, 1, 2, 0}), "nmg:n=1,m=2,g=1,dims=1.0").save();
  CHECK(numbers<float>(t, "values") == Floats{2, 1});
  CHECK(bytes_of(t, "index") == Ints{1, 0});
}

TEST_CASE("1:10:4 of F32 takes 5 bytes per slot, 40 slots per 10 x 40 chunk") {
  Dice dice(1);
  for (const Shape& shape :
       {Shape{10, 40}, Shape{768, 96}, Shape{25, 95}, Shape{1, 1}, Shape{11, 41}}) {
    const Dense x = normals(dice, shape);
    const Tensor t = packed(x, fitted(x, "nmg:n=1,m=10,g=4"), "nmg:n=1,m=10,g=4");
    CHECK(t.bytes() ==
          static_cast<std::size_t>(ceil_div(shape[0], 10) * ceil_div(shape[1], 40) * 40 * 5));
  }
}

TEST_CASE("column indices take 8 bits in chunks of up to 256 strips and 16 bits beyond") {
  const auto index = [](Index g, Index cols) {
    const Dense x = Dense::zeros(DType::F32, {4, cols});
    return packed(x, fmt::format("nmg:n=1,m=4,g={}", g)).save().parts[1];
  };
  CHECK(index(64, 256).dtype == DType::U8);
  CHECK(index(64, 257).dtype == DType::U8);
  CHECK(index(65, 260).dtype == DType::U16);
  CHECK(index(65, 1).dtype == DType::U16);
  CHECK(numbers<std::uint8_t>(index(64, 256)).back() == 255);
  CHECK(numbers<std::uint16_t>(index(65, 260)).back() == 259);

  Dice dice(2);
  const Dense x = normals(dice, {4, 300});
  for (const char* spec : {"nmg:n=1,m=4,g=64", "nmg:n=1,m=4,g=65", "nmg:n=1,m=4,g=16384"}) {
    const Mask m = fitted(x, spec);
    const Stored stored = packed(x, m, spec).save();
    CHECK(same_bits(registry().load(stored).to_dense(), masked_by(x, m)));
  }
}

TEST_CASE("the fit uses every pattern exactly g times per chunk") {
  Dice dice(3);
  const Dense x = normals(dice, {8, 24});
  const Mask m = fitted(x, "nmg:n=2,m=4,g=2");
  for (Index block = 0; block < 2; ++block)
    for (Index chunk = 0; chunk < 2; ++chunk) {
      std::vector<int> uses(16);
      for (Index c = 12 * chunk; c < 12 * chunk + 12; ++c) {
        int pattern = 0;
        for (Index r = 0; r < 4; ++r) pattern |= m[(4 * block + r) * 24 + c] << r;
        ++uses[pattern];
      }
      for (int p : {3, 5, 6, 9, 10, 12}) CHECK(uses[p] == 2);
    }
}

TEST_CASE("n:m:g rejects a strip with more than n kept positions and reports its position") {
  const Dense x = Dense::of({2, 4}, {1, 0, 1, 0, 0, 1, 1, 1});
  CHECK(has(error_of([&] { packed(x, "nmg:n=1,m=2,g=1"); }), "cannot hold column 2"));
  CHECK(
      has(error_of([&] { packed(transposed(x), "nmg:n=1,m=2,g=1,axis=1"); }), "cannot hold row 2"));
}

TEST_CASE("n:m:g rejects a chunk that needs a pattern more than g times and reports its position") {
  const Dense x = Dense::of({2, 4}, {1, 0, 1, 1, 0, 1, 0, 0});
  const std::string text = error_of([&] { packed(x, "nmg:n=1,m=2,g=1"); });
  CHECK(has(text, "rows 0 to 1, columns 2 to 3"));
  CHECK(has(text, "every pattern exactly 1 times"));
  CHECK(error_of([&] {
          packed(Dense::of({2, 4}, {1, 0, 1, 0, 0, 1, 0, 1}), "nmg:n=1,m=2,g=2");
        }) == "");
}

TEST_CASE("n:m:g with n = m keeps every element") {
  Dice dice(4);
  const Dense x = normals(dice, {7, 5});
  const Tensor t = packed(x, "nmg:n=3,m=3,g=2");
  CHECK(same_bits(t.to_dense(), x));
  CHECK(t.stored().count() == 35);
  CHECK(t.save().parts[0].shape == Shape{3, 3, 1, 2, 3});
}

TEST_CASE("n:m:g packs empty tensors to 0 bytes") {
  for (const Shape& shape : {Shape{0, 0}, Shape{0, 5}, Shape{5, 0}, Shape{3, 0, 2}}) {
    const Tensor t = packed(Dense::zeros(DType::F32, shape), "nmg:n=2,m=4,g=2");
    CHECK(t.bytes() == 0);
    CHECK(t.to_dense().extents == shape);
    CHECK(t.stored().count() == 0);
    CHECK(t.padding() == 0);
  }
}

TEST_CASE("n:m:g rejects invalid layout specs") {
  for (const char* wrong :
       {"nmg", "nmg:n=1,m=2", "nmg:n=3,m=2,g=1", "nmg:n=0,m=2,g=1", "nmg:n=1,m=0,g=1",
        "nmg:n=1,m=2,g=0", "nmg:n=1,m=2,g=-1", "nmg:n=1,m=2,g=32769", "nmg:n=9,m=20,g=1",
        "nmg:n=500,m=1000,g=1", "nmg:n=1,m=65537,g=1", "nmg:n=70000,m=70000,g=1",
        "nmg:n=1,m=9223372036854775807,g=1", "nmg:n=1,m=2,g=9223372036854775807",
        "nmg:n=1,m=2,g=1,axis=2", "nmg:n=1,m=2,g=1,dims=1.1", "nmg:n=1,m=2,g=1,fit=greedy"}) {
    CAPTURE(wrong);
    CHECK(fault_of([&] { registry().check_layout(Spec::parse(wrong)); }) == Fault::usage);
  }
  CHECK(error_of([] { registry().check_layout(Spec::parse("nmg:n=1,m=2,g=32768")); }) == "");
}

TEST_CASE("n:m:g fits and packs large tensors identically at 1 and 3 threads") {
  Dice dice(6);
  const Dense x = normals(dice, {203, 701});
  for (const char* spec : {"nmg:n=2,m=4,g=16", "nmg:n=1,m=10,g=4,axis=1"}) {
    CAPTURE(spec);
    const Threads one(1);
    const Mask m = fitted(x, spec);
    const Stored alone = packed(x, m, spec).save();
    const Threads three(3);
    CHECK(same_mask(fitted(x, spec), m));
    const Tensor t = packed(x, m, spec);
    CHECK(same_parts(t.save(), alone));
    CHECK(same_mask(t.stored(), m));
    CHECK(same_bits(t.to_dense(), masked_by(x, m)));
  }
}
