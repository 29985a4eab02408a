// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/sparsify/scored.h"

#include <doctest/doctest.h>

#include "tests/support/sparsifier_reference.h"

using namespace sten;
using namespace sten::testing;

namespace {

using Ints = std::vector<int>;

Mask select(const Dense& x, const Dense& scores, std::string_view spec) {
  return registry().sparsifier(Spec::parse(spec)).select(x, {nullptr, &scores, nullptr});
}

const bool has_movement_reference = add_reference(
    "movement", Kind::materializing, [](const Selection& s) { return s.keep_largest(s.scores); });
const bool has_soft_movement_reference =
    add_reference("soft-movement", Kind::materializing, [](const Selection& s) {
      return s.keep_if(
          [&](Index i) { return 1 / (1 + std::exp(-s.scores[i])) > s.spec.number("at"); });
    });
const bool has_l0_reference = add_reference("l0", Kind::materializing, [](const Selection& s) {
  return s.keep_if([&](Index i) {
    const double gate = 1.2 / (1 + std::exp(-s.scores[i])) - 0.1;
    return std::clamp(gate, 0.0, 1.0) > 0;
  });
});
const bool has_gradient_reference =
    add_reference("gradient", Kind::materializing, [](const Selection& s) {
      const bool is_wide = s.x.dtype() == DType::F64 || s.hints.scores->dtype() == DType::F64;
      std::vector<double> rank;
      for (std::size_t i = 0; i < s.values.size(); ++i) {
        const double v = s.values[i], g = s.scores[i];
        rank.push_back(std::abs(is_wide ? v * g : static_cast<float>(v) * static_cast<float>(g)));
      }
      return s.keep_largest(rank);
    });

}  // namespace

TEST_CASE("movement removes the smallest signed scores, regardless of the values") {
  const Dense x = Dense::of({6}, {9, 9, 9, 9, 9, 0});
  const Dense s = Dense::of({6}, {-1, -5, 0, 3, -0.0f, 7});
  CHECK(ones_of(select(x, s, "movement:sparsity=0.16")) == Ints{1, 0, 1, 1, 1, 1});
  CHECK(ones_of(select(x, s, "movement:sparsity=0.34")) == Ints{0, 0, 1, 1, 1, 1});
  CHECK(ones_of(select(x, s, "movement:sparsity=0.5")) == Ints{0, 0, 1, 1, 0, 1});
  CHECK(ones_of(select(x, s, "movement:sparsity=0.83")) == Ints{0, 0, 0, 0, 0, 1});
  CHECK(select(x, s, "movement:sparsity=0").count() == 6);
  CHECK(select(x, s, "movement:sparsity=1").count() == 0);
}

TEST_CASE("movement ranks -infinity below and +infinity above finite scores") {
  const Dense x = Dense::of({4}, {1, 1, 1, 1});
  const Dense s = Dense::of({4}, {INFINITY, -INFINITY, -3e38f, 3e38f});
  CHECK(ones_of(select(x, s, "movement:sparsity=0.25")) == Ints{1, 0, 1, 1});
  CHECK(ones_of(select(x, s, "movement:sparsity=0.5")) == Ints{1, 0, 0, 1});
  CHECK(ones_of(select(x, s, "movement:sparsity=0.75")) == Ints{1, 0, 0, 0});
}

TEST_CASE("gradient removes the smallest magnitudes of value times gradient") {
  const Dense x = Dense::of({4}, {1, -2, 100, 0.5f});
  const Dense g = Dense::of({4}, {-3, 2, 0.01f, 1});
  CHECK(ones_of(select(x, g, "gradient:sparsity=0.25")) == Ints{1, 1, 1, 0});
  CHECK(ones_of(select(x, g, "gradient:sparsity=0.5")) == Ints{1, 1, 0, 0});
  CHECK(ones_of(select(x, g, "gradient:sparsity=0.75")) == Ints{0, 1, 0, 0});
}

TEST_CASE("F64 scores are ranked in double precision") {
  Dense s = Dense::zeros(DType::F64, {2});
  s.values.mutate<double>()[0] = -1;
  s.values.mutate<double>()[1] = -1 - 1e-12;
  const Dense x = Dense::of({2}, {1, 1});
  CHECK(ones_of(select(x, s, "movement:sparsity=0.5")) == Ints{1, 0});
  CHECK(ones_of(select(x, s, "gradient:sparsity=0.5")) == Ints{0, 1});
}

TEST_CASE("l0 keeps elements whose gate is open (score above -ln 11)") {
  const Dense x = Dense::of({6}, {0, 1, 1, 1, 1, 1});
  const Dense a = Dense::of({6}, {0, -2.3978f, -2.398f, 5, -INFINITY, INFINITY});
  CHECK(ones_of(select(x, a, "l0:")) == Ints{1, 1, 0, 1, 0, 1});
}

TEST_CASE("non-finite values are kept regardless of their scores") {
  const Dense x = Dense::of({3}, {NAN, 1, -INFINITY});
  const Dense s = Dense::of({3}, {-9, 8, 0});
  for (const char* spec : {"movement:sparsity=0.34", "gradient:sparsity=0.34", "l0"}) {
    CAPTURE(spec);
    const Mask m = select(x, s, spec);
    CHECK(m[0]);
    CHECK(m[2]);
  }
}

TEST_CASE("missing scores and scores of the wrong shape, of an integer dtype or NaN are rejected") {
  const Dense x = Dense::of({3}, {1, 0, 1});
  for (const char* spec : {"movement:sparsity=0.5", "gradient:sparsity=0.5", "l0"}) {
    CAPTURE(spec);
    const Sparsifier s = registry().sparsifier(Spec::parse(spec));
    CHECK(s.needs_scores());
    CHECK(fault_of([&] { s.select(x); }) == Fault::usage);
    CHECK(has(error_of([&] { s.select(x); }), "needs one score per element"));
    CHECK(has(error_of([&] { select(x, Dense::of({1, 3}, {1, 1, 1}), spec); }), "[1, 3]"));
    CHECK(has(error_of([&] { select(x, Dense::zeros(DType::I32, {3}), spec); }), "I32"));
    CHECK(has(error_of([&] { select(x, Dense::of({3}, {1, 2, NAN}), spec); }), "element 2 is NaN"));
  }
  CHECK(has(error_of([&] {
              select(x, Dense::of({3}, {1, INFINITY, 1}), "gradient:sparsity=0.5");
            }),
            "element 1 is 0 times infinity"));
  CHECK_FALSE(registry().sparsifier(Spec::parse("magnitude:sparsity=0.5")).needs_scores());
}

TEST_CASE("relu keeps values above 0") {
  const Dense x = Dense::of({5}, {1, -1, 0, -0.0f, 1e-40f});
  CHECK(ones_of(select(x, x, "relu")) == Ints{1, 0, 0, 0, 1});
}

TEST_CASE("resparsify applies the tensor's own sparsifier to the new values") {
  const Dense x = Dense::of({4}, {1, 4, 2, 3});
  const Sparsifier own = registry().sparsifier(Spec::parse("magnitude:sparsity=0.5"));
  const Sparsifier s = registry().sparsifier(Spec::parse("resparsify"));
  CHECK(ones_of(s.select(x, {nullptr, nullptr, &own})) == Ints{0, 1, 0, 1});
  CHECK(fault_of([&] { s.select(x); }) == Fault::usage);
  CHECK(fault_of([&] { s.select(x, {nullptr, nullptr, &s}); }) == Fault::usage);
}
