// SPDX-License-Identifier: Apache-2.0
// User-defined sparsifiers of the three kinds.
// ThreadSanitizer runs these tests, too.
#include "libsten/core/sparsify/sparsifier.h"

#include <doctest/doctest.h>

#include <numeric>

#include "libsten/core/sparsify/magnitude.h"
#include "libsten/core/sparsify/nm_magnitude.h"
#include "libsten/core/sparsify/streaming.h"
#include "tests/support/sparsifier_reference.h"

using namespace sten;
using namespace sten::testing;

namespace {

using Ints = std::vector<int>;

struct Positive {
  static constexpr const char* name = "positive";
  bool keep(float v, Index) const { return v > 0; }
};

struct EveryThird {
  static constexpr const char* name = "every-third";
  bool keep(float, Index i) const { return i % 3 == 0; }
};

// Keeps values above 1 in their own precision.
struct AboveOne {
  static constexpr const char* name = "above-one";
  bool keep(auto v, Index) const { return v > 1; }
};

// Keeps the first value of each block and every larger one.
struct FirstAndLarger {
  static constexpr const char* name = "first-and-larger";
  Index size = 3;
  Index block() const { return size; }
  void select(std::span<const float> in, std::span<std::uint8_t> keep) const {
    for (std::size_t i = 0; i < in.size(); ++i) keep[i] = in[i] >= in[0];
  }
};

// The same, down the columns.
struct DownFirst : FirstAndLarger {
  static constexpr const char* name = "down-first";
  Index axis = 0;
  Dims dims;
};

// Keeps values above the mean.
struct AboveMean {
  static constexpr const char* name = "above-mean";
  Mask select(const Dense& x, const Hints&) const {
    const auto v = x.values.as<float>();
    const float mean = std::accumulate(v.begin(), v.end(), 0.0f) / static_cast<float>(v.size());
    Mask m = Mask::none(x.extents);
    for (Index i = 0; i < x.size(); ++i) m.set(i, v[i] > mean);
    return m;
  }
};

const bool has_same_pattern_reference = add_reference(
    "same-pattern", Kind::materializing, [](const Selection& s) { return *s.hints.pattern; });
const bool has_resparsify_reference =
    add_reference("resparsify", Kind::materializing, [](const Selection& s) {
      return reference_mask(s.hints.own->spec(), s.x, {s.hints.pattern, s.hints.scores, nullptr});
    });

}  // namespace

TEST_CASE("the kind of a sparsifier follows from its member functions") {
  CHECK(Sparsifier(Positive{}).kind() == Kind::streaming);
  CHECK(Sparsifier(FirstAndLarger{}).kind() == Kind::blocking);
  CHECK(Sparsifier(AboveMean{}).kind() == Kind::materializing);
  CHECK(Sparsifier(KeepAll{}).kind() == Kind::streaming);
  CHECK(Sparsifier(NmMagnitude{}).kind() == Kind::blocking);
  CHECK(Sparsifier(Magnitude{}).kind() == Kind::materializing);
  CHECK(Sparsifier(Positive{}).name() == Name("positive"));
  CHECK(name_of(Kind::streaming) == "streaming");
  CHECK(name_of(Kind::materializing) == "materializing");
}

TEST_CASE("a user-defined streaming sparsifier decides on each value and index alone") {
  const Dense x = Dense::of({2, 3}, {1, -2, 0, NAN, 5, -6});
  CHECK(ones_of(Sparsifier(Positive{}).select(x)) == Ints{1, 0, 0, 0, 1, 0});
  CHECK(ones_of(Sparsifier(EveryThird{}).select(x)) == Ints{1, 0, 0, 1, 0, 0});
  Dense b = Dense::zeros(DType::BF16, {2});
  b.values.mutate<std::uint16_t>()[1] = 0x3f80;
  CHECK(ones_of(Sparsifier(Positive{}).select(b)) == Ints{0, 1});
}

TEST_CASE("a streaming sparsifier that accepts double receives F64 values as double") {
  Dense x = Dense::zeros(DType::F64, {2});
  x.values.mutate<double>()[0] = 1 + 1e-12;
  x.values.mutate<double>()[1] = 1;
  CHECK(ones_of(Sparsifier(AboveOne{}).select(x)) == Ints{1, 0});
}

TEST_CASE("the blocks of a user-defined blocking sparsifier end at the end of a row or column") {
  const Dense x = Dense::of({2, 4}, {1, 0, 2, 5, 3, 4, 1, -7});
  CHECK(ones_of(Sparsifier(FirstAndLarger{}).select(x)) == Ints{1, 0, 1, 1, 1, 1, 0, 1});
  CHECK(ones_of(Sparsifier(DownFirst{}).select(x)) == Ints{1, 1, 1, 1, 1, 1, 0, 0});
  CHECK(ones_of(Sparsifier(FirstAndLarger{INT64_MAX}).select(x)) == Ints{1, 0, 1, 1, 1, 1, 0, 0});
  CHECK(Sparsifier(FirstAndLarger{}).select(Dense::zeros(DType::F32, {3, 0})).count() == 0);
}

TEST_CASE("a blocking sparsifier that accepts only float receives F64 values as float") {
  Dense x = Dense::zeros(DType::F64, {1, 2});
  x.values.mutate<double>()[0] = 1 + 1e-12;
  x.values.mutate<double>()[1] = 1;
  CHECK(ones_of(Sparsifier(FirstAndLarger{}).select(x)) == Ints{1, 1});
}

TEST_CASE("blocking sparsifiers with a block size below 1 are rejected") {
  const Dense x = Dense::zeros(DType::F32, {2, 2});
  CHECK(has(error_of([&] { Sparsifier(FirstAndLarger{0}).select(x); }),
            "expected a block of 1 or more values, got 0"));
  CHECK(fault_of([&] { Sparsifier(FirstAndLarger{-1}).select(x); }) == Fault::usage);
}

TEST_CASE("a user-defined materializing sparsifier sees the whole tensor") {
  CHECK(ones_of(Sparsifier(AboveMean{}).select(Dense::of({4}, {1, 2, 3, 10}))) == Ints{0, 0, 0, 1});
}

TEST_CASE("sparsifiers reject dtypes without a magnitude") {
  for (DType t : movable_dtypes()) {
    if (is_prunable(t)) continue;
    CAPTURE(name_of(t));
    const Dense x = Dense::zeros(t, {2, 2});
    CHECK(has(error_of([&] { Sparsifier(Positive{}).select(x); }), name_of(t)));
    CHECK(has(error_of([&] { Sparsifier(NmMagnitude{}).select(x); }), name_of(t)));
    CHECK(fault_of([&] { Sparsifier(Magnitude{}).select(x); }) == Fault::input);
  }
}

TEST_CASE("threads that write rows sharing bytes of the mask lose no bits") {
  Dice dice(1);
  const Dense x = normals(dice, {90001, 3});
  const Threads one(1);
  const Mask m = Sparsifier(FirstAndLarger{}).select(x);
  const Threads four(4);
  for (int k = 0; k < 5; ++k) CHECK(same_mask(Sparsifier(FirstAndLarger{}).select(x), m));
}
