// SPDX-License-Identifier: Apache-2.0
// ThreadSanitizer runs these tests, too.
#include "libsten/core/sparsify/streaming.h"

#include <doctest/doctest.h>

#include "libsten/core/sparsify/same_pattern.h"
#include "tests/support/sparsifier_reference.h"

using namespace sten;
using namespace sten::testing;

namespace {

std::string why(const char* spec) {
  CHECK(fault_of([&] { registry().sparsifier(Spec::parse(spec)); }) == Fault::usage);
  return error_of([&] { registry().sparsifier(Spec::parse(spec)); });
}

const bool has_keep_all_reference = add_reference(
    "keep-all", Kind::streaming, [](const Selection& s) { return Mask::all(s.x.extents); });
const bool has_random_reference = add_reference("random", Kind::streaming, [](const Selection& s) {
  return s.keep_if([&](Index i) {
    return random_uniform(s.spec.integer("seed"), i) >= s.spec.number("fraction");
  });
});
const bool has_threshold_reference =
    add_reference("threshold", Kind::streaming, [](const Selection& s) {
      return s.keep_if([&](Index i) { return std::abs(s.values[i]) >= s.spec.number("at"); });
    });
const bool has_nonzero_reference = add_reference(
    "nonzero", Kind::streaming,
    [](const Selection& s) { return s.keep_if([&](Index i) { return s.values[i] != 0; }); });
const bool has_relu_reference = add_reference("relu", Kind::streaming, [](const Selection& s) {
  return s.keep_if([&](Index i) { return s.values[i] > 0; });
});

}  // namespace

TEST_CASE("keep-all keeps every element, including zeros and NaN") {
  CHECK(select(Dense::of({3}, {0, NAN, 1}), "keep-all").count() == 3);
  CHECK(select(Dense::zeros(DType::F8_E4M3, {5, 13}), "keep-all").count() == 65);
}

TEST_CASE("threshold drops smaller magnitudes and keeps equal ones") {
  const Dense x = Dense::of({7}, {0.5f, -0.5f, 0.49f, -0.51f, 0, NAN, -INFINITY});
  CHECK(ones_of(select(x, "threshold:at=0.5")) == std::vector<int>{1, 1, 0, 1, 0, 1, 1});
  CHECK(select(x, "threshold:at=0").count() == 7);
  CHECK(ones_of(select(x, "threshold:at=1e300")) == std::vector<int>{0, 0, 0, 0, 0, 1, 1});
}

TEST_CASE("threshold is rounded to the ranking precision: double for F64, else float") {
  // 0.1 as float is slightly larger than 0.1.
  const float at = 0.1f;
  const Dense x = Dense::of({3}, {at, std::nextafter(at, 0.0f), std::nextafter(at, 1.0f)});
  CHECK(ones_of(select(x, "threshold:at=0.1")) == std::vector<int>{1, 0, 1});
  Dense d = Dense::zeros(DType::F64, {3});
  const auto v = d.values.mutate<double>();
  v[0] = 0.1;
  v[1] = std::nextafter(0.1, 0);
  v[2] = -0.1;
  CHECK(ones_of(select(d, "threshold:at=0.1")) == std::vector<int>{1, 0, 1});
  Dense h = Dense::zeros(DType::F16, {2});
  h.values.mutate<std::uint16_t>()[0] = 0x2e66;  // 0.09998, the F16 nearest to 0.1
  h.values.mutate<std::uint16_t>()[1] = 0x2e67;
  CHECK(ones_of(select(h, "threshold:at=0.1")) == std::vector<int>{0, 1});
}

TEST_CASE("random drops about the given fraction") {
  const Index n = 200000;
  const Dense x = Dense::zeros(DType::F32, {200, 1000});
  for (double fraction : {0.1, 0.5, 0.9}) {
    const double sigma = std::sqrt(static_cast<double>(n) * fraction * (1 - fraction));
    for (int seed : {0, 1, 99}) {
      const Index kept =
          select(x, fmt::format("random:fraction={},seed={}", fraction, seed)).count();
      CHECK(std::abs(static_cast<double>(kept) - static_cast<double>(n) * (1 - fraction)) <
            5 * sigma);
    }
  }
  CHECK(select(x, "random:fraction=0").count() == n);
  CHECK(select(x, "random:fraction=1").count() == 0);
}

TEST_CASE("random is identical at 1 and 3 threads and differs between seeds") {
  const Dense x = Dense::zeros(DType::BF16, {300, 1000});
  const Threads one(1);
  const Mask m = select(x, "random:fraction=0.5,seed=3");
  const Threads three(3);
  CHECK(same_mask(select(x, "random:fraction=0.5,seed=3"), m));
  CHECK(same_mask(select(x, "random:fraction=0.5"), select(x, "random:fraction=0.5,seed=0")));
  const Mask other = select(x, "random:fraction=0.5,seed=4");
  Index both = 0;
  for (Index i = 0; i < x.size(); ++i) both += m[i] && other[i];
  // A quarter, within five standard deviations.
  CHECK(std::abs(static_cast<double>(both) - 75000) < 5 * std::sqrt(300000 * 0.25 * 0.75));
}

TEST_CASE("random depends neither on the values nor on the shape") {
  Dice dice(1);
  const Mask a = select(Dense::zeros(DType::F32, {60, 70}), "random:fraction=0.5,seed=3");
  const Mask b = select(normals(dice, {4200}), "random:fraction=0.5,seed=3");
  CHECK(ones_of(a) == ones_of(b));
}

TEST_CASE("same-pattern keeps the given pattern and rejects a missing or mismatched one") {
  const Dense x = Dense::of({2, 2}, {0, 2, 3, 4});
  const Mask had = mask_of({2, 2}, {1, 0, 1, 0});
  const Sparsifier s = registry().sparsifier(Spec("same-pattern"));
  CHECK(same_mask(s.select(x, {&had}), had));
  CHECK(has(error_of([&] { s.select(x); }), "missing pattern"));
  const Mask other = Mask::all({4});
  CHECK(has(error_of([&] { s.select(x, {&other}); }), "[4]"));
  CHECK(fault_of([&] { s.select(x); }) == Fault::usage);
}

TEST_CASE("streaming sparsifiers reject invalid specs") {
  CHECK(has(why("random:fraction=1.5"), "must be in [0, 1]"));
  CHECK(has(why("random:fraction=nan"), "expected a number"));
  CHECK(has(why("random"), "missing 'fraction'"));
  CHECK(has(why("random:fractoin=0.5"), "did you mean 'fraction'?"));
  CHECK(has(why("random:fraction=0.5,seed=x"), "expected an integer as 'seed'"));
  CHECK(has(why("threshold:at=-1"), "at must be >= 0, got -1"));
  CHECK(has(why("threshold:at=nan"), "expected a number"));
  CHECK(has(why("threshold"), "missing 'at'"));
  CHECK(has(why("keep-all:at=1"), "takes no keys"));
  CHECK(has(why("same-pattern:at=1"), "takes no keys"));
}
