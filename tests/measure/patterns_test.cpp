// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/measure/patterns.h"

#include <doctest/doctest.h>

#include "libsten/programs/measure/layout_bytes.h"
#include "libsten/programs/measure/measure.h"
#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Noise pruned to a structure.
Dense pruned(Dice& dice, const Shape& shape, const char* sparsifier) {
  Dense x = Dense::zeros(DType::F32, shape);
  const auto v = x.values.mutate<float>();
  for (float& f : v) f = static_cast<float>(dice.uniform()) + 0.5f;
  return Dense::pack(x, registry().sparsifier(Spec::parse(sparsifier)).select(x));
}
std::string found(const Dense& x) { return strictest(held_patterns(x)); }

}  // namespace

TEST_CASE("the strictest n:m or n:m:g pattern of a pruned tensor is found") {
  Dice dice(1);
  CHECK(found(pruned(dice, {64, 120}, "nm:n=2,m=4")) == "2:4");
  CHECK(found(pruned(dice, {64, 120}, "nm:n=1,m=4")) == "1:4");
  CHECK(found(pruned(dice, {64, 120}, "nm:n=1,m=8")) == "1:8");
  CHECK(found(pruned(dice, {600, 1200}, "nm:n=1,m=10,axis=0")) == "1:10 axis=0");
  CHECK(found(pruned(dice, {64, 120}, "nm:n=2,m=4,axis=0")) == "2:4 axis=0");
  // Every row has 4 of every 32.
  CHECK(found(pruned(dice, {640, 1200}, "nmg:n=1,m=8,g=4")) == "4:8, 1:8:4");
  CHECK(found(pruned(dice, {640, 1200}, "nmg:n=2,m=4,g=1")) == "2:4:1");
}

TEST_CASE("held_patterns also lists the patterns that a stricter pattern implies") {
  Dice dice(2);
  std::string all;
  for (const Pattern& p : held_patterns(pruned(dice, {64, 120}, "nm:n=1,m=4")))
    all += p.str() + " ";
  CHECK(all == "1:2 1:4 2:4 2:8 4:8 ");
}

TEST_CASE("dense, all-zero, empty, narrow and one-dimensional tensors have no pattern") {
  Dice dice(3);
  CHECK(found(pruned(dice, {64, 120}, "keep-all")) == "");
  CHECK(found(Dense::zeros(DType::F32, {64, 120})) == "");
  CHECK(found(Dense::zeros(DType::F32, {0, 8})) == "");
  CHECK(found(pruned(dice, {1, 1}, "keep-all")) == "");
  CHECK(found(pruned(dice, {8, 1}, "keep-all")) == "");
  CHECK(found(Dense::of({4}, {1, 0, 1, 0})) == "");
}

TEST_CASE("breach names the first block that violates a pattern and counts all such blocks") {
  Dense x = Dense::of({2, 8}, {1, 1, 0, 0, 0, 1, 1, 0, 1, 1, 1, 0, 0, 0, 0, 0});
  CHECK(breach(x, Spec::parse("nm:n=2,m=4")) ==
        "1 of 4 blocks break nm:n=2,m=4, first row 1, columns 0 to 3: 3 nonzeros");
  CHECK(!breach(x, Spec::parse("nm:n=3,m=4")));
  CHECK(breach(x, Spec::parse("nm:n=1,m=2,axis=0")) ==
        "2 of 8 blocks break nm:n=1,m=2,axis=0, first column 0, rows 0 to 1: 2 nonzeros");
  CHECK(breach(x, Spec::parse("nmg:n=1,m=2,g=1")).has_value());
  CHECK(!breach(Dense::of({2, 2}, {1, 0, 0, 1}), Spec::parse("nmg:n=1,m=2,g=1")));
}

TEST_CASE("positions as a list and as a bit mask have the same patterns, breaches and bytes") {
  Dice dice(5);
  for (const char* sparsifier :
       {"nm:n=2,m=4", "nm:n=1,m=10,axis=0", "nmg:n=1,m=8,g=4", "nmg:n=2,m=4,g=1,axis=1",
        "random:fraction=0.97", "random:fraction=0.5"})
    for (const Shape& shape : {Shape{40, 120}, Shape{13, 7}, Shape{12, 3, 20}, Shape{4, 0}}) {
      CAPTURE(sparsifier);
      CAPTURE(to_string(shape));
      const Mask bits = value_mask(pruned(dice, shape, sparsifier));
      std::vector<Index> at;
      for (Index i = 0; i < bits.size(); ++i)
        if (bits[i]) at.push_back(i);
      const Positions one = Positions::of(bits), other = Positions::listed(shape, at);
      CHECK(one.count() == other.count());
      const auto held = held_patterns(one);
      const auto names = [](const std::vector<Pattern>& all) {
        std::string text;
        for (const Pattern& p : all) text += p.str() + " ";
        return text;
      };
      CHECK(names(held) == names(held_patterns(other)));
      CHECK(layout_bytes({4, one}, held) == layout_bytes({4, other}, held));
      for (const char* spec :
           {"nm:n=1,m=4", "nm:n=2,m=4,axis=0", "nm:n=1,m=4,dims=1.0", "nmg:n=1,m=4,g=2",
            "nmg:n=2,m=4,g=1,axis=1", "nmgv:n=1,m=3,g=2,v=2"}) {
        CAPTURE(spec);
        const auto a = breach(one, Spec::parse(spec)), b = breach(other, Spec::parse(spec));
        CHECK(a.has_value() == b.has_value());
        if (std::string_view(spec).starts_with("nm:")) CHECK(a == b);
      }
    }
}

TEST_CASE("an empty tensor has no pattern and violates none, even with huge extents") {
  constexpr Index many = Index{1} << 40;
  for (const Shape& shape : {Shape{many, 0}, Shape{0, many}}) {
    const Positions none = Positions::of(Mask::none(shape));
    for (const char* spec : {"nm:n=2,m=4", "nm:n=2,m=4,axis=0", "nmg:n=2,m=4,g=4",
                             "nmg:n=2,m=4,g=4,axis=1", "nmgv:n=2,m=4,g=4,v=4"})
      CHECK(!breach(none, Spec::parse(spec)));
    CHECK(held_patterns(none).empty());
    CHECK(layout_bytes({4, none}, {})[2] == 0);  // bitmask
  }
}

TEST_CASE("patterns and breaches treat -0.0 as zero") {
  const Dense x = Dense::of({2, 8}, {1, -0.0f, 2, -0.0f, -0.0f, 3, -0.0f, 4,  //
                                     5, 6, -0.0f, -0.0f, 7, -0.0f, -0.0f, 8});
  CHECK(found(x) == "2:4");
  CHECK(!breach(x, Spec::parse("nm:n=2,m=4")));
  CHECK(found(Dense::of({2, 4}, {-0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f})) == "");
}
