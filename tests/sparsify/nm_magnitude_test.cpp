// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/sparsify/nm_magnitude.h"

#include <doctest/doctest.h>

#include "tests/support/sparsifier_reference.h"

using namespace sten;
using namespace sten::testing;

namespace {

using Ints = std::vector<int>;

const bool has_nm_reference = add_reference("nm", Kind::blocking, [](const Selection& s) {
  const Index n = s.spec.integer("n"), m = s.spec.integer("m");
  Mask mask = Mask::none(s.x.extents);
  for (const auto& a : matrices(s.x.extents, s.spec, s.spec.integer("axis", 1) == 0))
    for (const auto& line : a)
      for (Index c = 0; c < std::ssize(line); c += m) {
        std::vector<double> rank;  // backwards, because the earlier one is kept
        for (Index j = std::min<Index>(c + m, std::ssize(line)); j-- > c;)
          rank.push_back(std::abs(s.values[line[j]]));
        const auto b = std::ssize(rank);
        for (Index j = 0; j < b; ++j) {
          Index ahead = 0;
          for (Index k = 0; k < b; ++k) ahead += rank[k] > rank[j] || (rank[k] == rank[j] && k > j);
          if (ahead < n) mask.set(line[c + b - 1 - j], true);
        }
      }
  return mask;
});

}  // namespace

TEST_CASE("nm keeps the n largest of every m values along a row") {
  const Dense x = Dense::of({2, 4}, {1, -3, 2, 0, 5, 6, -7, 8});
  CHECK(ones_of(select(x, "nm:n=2,m=4")) == Ints{0, 1, 1, 0, 0, 0, 1, 1});
  CHECK(ones_of(select(x, "nm:n=1,m=2")) == Ints{0, 1, 1, 0, 0, 1, 0, 1});
  CHECK(select(x, "nm:n=4,m=4").count() == 8);
}

TEST_CASE("nm with axis 0 selects along columns") {
  const Dense x = Dense::of({4, 2}, {1, 5, -3, 6, 2, -7, 0, 8});
  CHECK(ones_of(select(x, "nm:n=2,m=4,axis=0")) == Ints{0, 0, 1, 0, 1, 1, 0, 1});
}

TEST_CASE("nm keeps the earlier of equal magnitudes") {
  const Dense x = Dense::of({1, 8}, {1, 1, -1, 1, 0, 2, -2, 2});
  CHECK(ones_of(select(x, "nm:n=2,m=4")) == Ints{1, 1, 0, 0, 0, 1, 1, 0});
  CHECK(ones_of(select(Dense::zeros(DType::F32, {1, 4}), "nm:n=1,m=4")) == Ints{1, 0, 0, 0});
}

TEST_CASE("nm keeps min(n, b) values of a short last block of b values") {
  const Dense x = Dense::of({2, 7}, {1, 2, 3, 4, 5, 7, 6, 4, 3, 2, 1, 5, 7, 6});
  CHECK(ones_of(select(x, "nm:n=2,m=4")) == Ints{0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1});
  CHECK(ones_of(select(Dense::of({1, 5}, {1, 2, 3, 4, 0}), "nm:n=2,m=4")) == Ints{0, 0, 1, 1, 1});
}

TEST_CASE("nm keeps NaN and infinity") {
  const Dense x = Dense::of({1, 4}, {1, NAN, 3e38f, -INFINITY});
  CHECK(ones_of(select(x, "nm:n=2,m=4")) == Ints{0, 1, 0, 1});
}

TEST_CASE("dims names the rows and columns along which nm blocks run") {
  const Dense x = Dense::of({2, 2, 2}, {1, 2, 4, 3, 5, 6, 8, 7});
  CHECK(ones_of(select(x, "nm:n=1,m=2,dims=1.2")) == Ints{0, 1, 1, 0, 0, 1, 1, 0});
  CHECK(ones_of(select(x, "nm:n=1,m=2,dims=2.1")) == Ints{0, 0, 1, 1, 0, 0, 1, 1});
  CHECK(ones_of(select(x, "nm:n=1,m=2,axis=0")) == Ints{0, 0, 0, 0, 1, 1, 1, 1});
  CHECK(ones_of(select(x, "nm:n=1,m=4")) == Ints{0, 0, 1, 0, 0, 0, 1, 0});
  CHECK(has(error_of([&] { select(x, "nm:n=1,m=2,dims=1.3"); }), "dims=1.3"));
}

TEST_CASE("nm treats tensors of rank 0 and 1 as a single row") {
  const Dense x = Dense::of({5}, {1, 2, 3, 4, 5});
  CHECK(ones_of(select(x, "nm:n=1,m=2")) == Ints{0, 1, 0, 1, 1});
  CHECK(ones_of(select(x, "nm:n=1,m=2,axis=0")) == Ints{0, 1, 0, 1, 1});
  CHECK(ones_of(select(Dense::of({}, {0}), "nm:n=1,m=2")) == Ints{1});
  CHECK(select(Dense::zeros(DType::F32, {0}), "nm:n=1,m=2").count() == 0);
}

TEST_CASE("nm compares F64 values in double precision") {
  Dense x = Dense::zeros(DType::F64, {1, 2});
  x.values.mutate<double>()[0] = 1;
  x.values.mutate<double>()[1] = 1 + 1e-12;
  CHECK(ones_of(select(x, "nm:n=1,m=2")) == Ints{0, 1});
}

TEST_CASE("nm matches the reference on both axes, with and without ties") {
  Dice dice(1);
  for (int k = 0; k < 400; ++k) {
    const bool large = k % 8 >= 6;
    const Index rows = dice.below(10), cols = dice.below(large ? 200 : 20);
    const Index m = 1 + dice.below(large ? 90 : 9);
    const Index n = 1 + dice.below(m), axis = dice.below(2);
    Dense x = normals(dice, {rows, cols});
    if (k % 2)
      for (float& v : x.values.mutate<float>()) v = std::round(v);
    const std::string spec = fmt::format("nm:n={},m={},axis={}", n, m, axis);
    if (!same_mask(select(x, spec), reference_mask(Spec::parse(spec), x)))
      FAIL_CHECK(spec << to_string(x.extents));
  }
}

TEST_CASE("nm selects half of a block of 65536 elements") {
  Dice dice(2);
  const Dense x = normals(dice, {2, 65536});
  CHECK(select(x, "nm:n=32768,m=65536").count() == 65536);
}

TEST_CASE("nm rejects invalid specs") {
  for (const char* wrong :
       {"nm", "nm:n=2", "nm:m=4", "nm:n=5,m=4", "nm:n=0,m=4", "nm:n=-1,m=4", "nm:n=1,m=65537",
        "nm:n=1,m=4,axis=2", "nm:n=1,m=4,g=2", "nm:n=1,m=4,dims=1", "nm:n=1.5,m=4"}) {
    CAPTURE(wrong);
    CHECK(fault_of([&] { registry().sparsifier(Spec::parse(wrong)); }) == Fault::usage);
  }
  CHECK(has(error_of([] { registry().sparsifier(Spec::parse("nm:n=1,m=4,axes=0")); }),
            "did you mean 'axis'?"));
}
