#include "libsten/run/patterns.h"

#include <doctest/doctest.h>

#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

// What pruning to a structure leaves of noise.
Dense pruned(Dice& dice, const Shape& shape, const char* sparsifier) {
  Dense x = Dense::zeros(DType::F32, shape);
  const auto v = x.values.mutate<float>();
  for (float& f : v) f = static_cast<float>(dice.uniform()) + 0.5f;
  return Dense::pack(x, registry().sparsifier(Spec::parse(sparsifier)).select(x));
}
std::string found(const Dense& x) { return strictest(held_patterns(x)); }

}  // namespace

TEST_CASE("the patterns that something else pruned to are found, the strictest of them named") {
  Dice dice(1);
  CHECK(found(pruned(dice, {64, 120}, "per-block:n=2,m=4")) == "2:4");
  CHECK(found(pruned(dice, {64, 120}, "per-block:n=1,m=4")) == "1:4");
  CHECK(found(pruned(dice, {64, 120}, "per-block:n=1,m=8")) == "1:8");
  CHECK(found(pruned(dice, {600, 1200}, "per-block:n=1,m=10,axis=0")) == "1:10 axis=0");
  CHECK(found(pruned(dice, {64, 120}, "per-block:n=2,m=4,axis=0")) == "2:4 axis=0");
  // Every row has 4 of every 32.
  CHECK(found(pruned(dice, {640, 1200}, "nmg:n=1,m=8,g=4")) == "4:8, 1:8:4");
  CHECK(found(pruned(dice, {640, 1200}, "nmg:n=2,m=4,g=1")) == "2:4:1");
}

TEST_CASE("what one pattern implies is in the whole list") {
  Dice dice(2);
  std::string all;
  for (const Pattern& p : held_patterns(pruned(dice, {64, 120}, "per-block:n=1,m=4")))
    all += p.str() + " ";
  CHECK(all == "1:2 1:4 2:4 2:8 4:8 ");
}

TEST_CASE("dense, all-zero, narrow and low-rank tensors have no pattern") {
  Dice dice(3);
  CHECK(found(pruned(dice, {64, 120}, "keep-all")) == "");
  CHECK(found(Dense::zeros(DType::F32, {64, 120})) == "");
  CHECK(found(Dense::zeros(DType::F32, {0, 8})) == "");
  CHECK(found(pruned(dice, {1, 1}, "keep-all")) == "");
  CHECK(found(pruned(dice, {8, 1}, "keep-all")) == "");
  CHECK(found(Dense::of({4}, {1, 0, 1, 0})) == "");
}

TEST_CASE("a breach names the first block and counts them") {
  Dense x = Dense::of({2, 8}, {1, 1, 0, 0, 0, 1, 1, 0, 1, 1, 1, 0, 0, 0, 0, 0});
  CHECK(breach(x, Spec::parse("nm:n=2,m=4")) ==
        "1 of 4 blocks break nm:n=2,m=4, first row 1, columns 0 to 3: 3 nonzeros");
  CHECK(!breach(x, Spec::parse("nm:n=3,m=4")));
  CHECK(breach(x, Spec::parse("nm:n=1,m=2,axis=0")) ==
        "2 of 8 blocks break nm:n=1,m=2,axis=0, first column 0, rows 0 to 1: 2 nonzeros");
  CHECK(breach(x, Spec::parse("nmg:n=1,m=2,g=1")).has_value());
  CHECK(!breach(Dense::of({2, 2}, {1, 0, 0, 1}), Spec::parse("nmg:n=1,m=2,g=1")));
}
