// SPDX-License-Identifier: Apache-2.0
// ThreadSanitizer runs these tests, too.
#include "libsten/core/sparsify/magnitude.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "libsten/core/base/random.h"
#include "tests/support/sparsifier_reference.h"

using namespace sten;
using namespace sten::testing;

namespace {

// The rule of magnitude, by sorting.
const bool has_magnitude_reference =
    add_reference("magnitude", Kind::materializing, [](const Selection& s) {
      std::vector<double> rank;
      for (const double v : s.values) rank.push_back(std::abs(v));
      return s.keep_largest(rank);
    });
Mask by_sorting(const Dense& x, double sparsity) {
  return reference_mask(Spec("magnitude").set("sparsity", fmt::format("{}", sparsity)), x);
}

// Random values, or few distinct ones of both signs; no NaN, which has no magnitude.
Dense numbers_of(Dice& dice, DType dtype, Shape shape, bool tied) {
  Dense x = any_bits(dice, dtype, std::move(shape));
  with_float(dtype, [&]<class E>(E) {
    using Bits = typename E::Bits;
    std::vector<Bits> few;
    while (few.size() < 4) {
      const auto b = static_cast<Bits>(dice.bits());
      if (!std::isnan(E::decode(b))) few.push_back(b);
    }
    constexpr Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
    few.push_back(static_cast<Bits>(few[0] ^ sign));
    for (Bits& b : x.values.template mutate<Bits>())
      if (tied || std::isnan(E::decode(b))) b = dice.one_of(few);
  });
  return x;
}

}  // namespace

TEST_CASE("magnitude drops the smallest values, later ties first") {
  const Dense x = Dense::of({8}, {3, -1, 2, 1, -1, 0, 5, -2});
  const auto kept = [&](double sparsity) { return ones_of(Magnitude{sparsity}.select(x, {})); };
  using Ints = std::vector<int>;
  CHECK(kept(0) == Ints{1, 1, 1, 1, 1, 1, 1, 1});
  CHECK(kept(0.125) == Ints{1, 1, 1, 1, 1, 0, 1, 1});
  CHECK(kept(0.25) == Ints{1, 1, 1, 1, 0, 0, 1, 1});
  CHECK(kept(0.375) == Ints{1, 1, 1, 0, 0, 0, 1, 1});
  CHECK(kept(0.5) == Ints{1, 0, 1, 0, 0, 0, 1, 1});
  CHECK(kept(0.625) == Ints{1, 0, 1, 0, 0, 0, 1, 0});
  CHECK(kept(0.875) == Ints{0, 0, 0, 0, 0, 0, 1, 0});
  CHECK(kept(1) == Ints{0, 0, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("the number of dropped elements is rounded to nearest, halves away from zero") {
  const Dense x = Dense::of({5}, {1, 2, 3, 4, 5});
  for (const auto& [sparsity, dropped] : std::vector<std::pair<double, Index>>{
           {0.09, 0}, {0.1, 1}, {0.29, 1}, {0.3, 2}, {0.5, 3}, {0.99, 5}})
    CHECK(Magnitude{sparsity}.select(x, {}).count() == 5 - dropped);
}

TEST_CASE("infinity and NaN rank above finite values, and the sign of zero does not matter") {
  const Dense x = Dense::of({6}, {3e38f, -INFINITY, -0.0f, NAN, 0.0f, 1e-45f});
  CHECK(ones_of(Magnitude{0.5}.select(x, {})) == std::vector<int>{1, 1, 0, 1, 0, 0});
  CHECK(ones_of(Magnitude{2.0 / 3}.select(x, {})) == std::vector<int>{0, 1, 0, 1, 0, 0});
  CHECK(ones_of(Magnitude{1.0 / 6}.select(x, {})) == std::vector<int>{1, 1, 1, 1, 0, 1});
}

TEST_CASE("magnitude matches sorting in every prunable dtype, with and without ties") {
  Dice dice(1);
  for (DType t : prunable_dtypes())
    for (Index n : {0, 1, 7, 8, 9, 63, 64, 65, 300, 1000})
      for (bool tied : {false, true}) {
        const Dense x = numbers_of(dice, t, {n}, tied);
        for (double sparsity : {0.0, 0.01, 0.1, 0.5, 0.77, 0.9, 1.0}) {
          const Mask m = Magnitude{sparsity}.select(x, {});
          if (!same_mask(m, by_sorting(x, sparsity)))
            FAIL_CHECK(name_of(t) << " " << n << " tied " << tied << " sparsity " << sparsity);
        }
      }
}

TEST_CASE("magnitude distinguishes F64 values that differ only in their last bit") {
  Dense x = Dense::zeros(DType::F64, {3});
  const auto v = x.values.mutate<double>();
  v[0] = 1;
  v[1] = std::nextafter(1, 0);
  v[2] = std::nextafter(1, 2);
  CHECK(ones_of(Magnitude{1.0 / 3}.select(x, {})) == std::vector<int>{1, 0, 1});
  CHECK(ones_of(Magnitude{2.0 / 3}.select(x, {})) == std::vector<int>{0, 0, 1});
}

TEST_CASE("magnitude of large tensors matches sorting at 1 and 3 threads") {
  Dice dice(2);
  for (DType t : {DType::F32, DType::BF16, DType::F8_E4M3})
    for (bool tied : {false, true}) {
      const Dense x = numbers_of(dice, t, {200, 1000}, tied);
      const Mask expected = by_sorting(x, 0.9);
      CHECK(expected.count() == 20000);
      for (int n : {1, 3}) {
        const Threads scope(n);
        CHECK(same_mask(Magnitude{0.9}.select(x, {}), expected));
      }
    }
}

TEST_CASE("selection by a histogram is identical at 1 and 3 threads") {
  Dice dice(3);
  const Dense x = any_bits(dice, DType::F8_E5M2, {1 << 21, 1});
  const Threads three(3);
  const Mask m = Magnitude{0.4}.select(x, {});
  CHECK(m.count() == (1 << 21) - std::llround(0.4 * (1 << 21)));
  const Threads one(1);
  CHECK(same_mask(Magnitude{0.4}.select(x, {}), m));
}

TEST_CASE("magnitude rejects a sparsity that is missing, not a number or outside [0, 1]") {
  const auto why = [](const char* spec) {
    CHECK(fault_of([&] { registry().sparsifier(Spec::parse(spec)); }) == Fault::usage);
    return error_of([&] { registry().sparsifier(Spec::parse(spec)); });
  };
  CHECK(has(why("magnitude:sparsity=1.5"), "sparsity must be in [0, 1], got 1.5"));
  CHECK(has(why("magnitude:sparsity=-0.1"), "must be in [0, 1]"));
  CHECK(has(why("magnitude:sparsity=nan"), "expected a number"));
  CHECK(has(why("magnitude:sparsity=inf"), "expected a number"));
  CHECK(has(why("magnitude"), "missing 'sparsity'"));
  CHECK(has(why("magnitude:sparcity=0.5"), "did you mean 'sparsity'?"));
  CHECK(has(error_of([] { Magnitude{0.5}.select(Dense::zeros(DType::I32, {4}), {}); }), "I32"));
  CHECK(error_of([] { registry().sparsifier(Spec::parse("magnitude:sparsity=1")); }) == "");
}

TEST_CASE("magnitude of large tensors matches sorting with few and with many ties") {
  constexpr Index n = (Index{1} << 21) + 77;
  for (const double steps : {1e9, 3000.0, 3.0}) {
    Dense x = Dense::zeros(DType::F32, {n});
    const auto v = x.values.mutate<float>();
    for (Index i = 0; i < n; ++i) {
      const double u = random_uniform(5, static_cast<std::uint64_t>(i));
      v[i] = static_cast<float>((i % 3 ? 1 : -1) * std::floor(u * u * steps));
    }
    std::vector<float> sizes(n);
    for (Index i = 0; i < n; ++i) sizes[i] = std::abs(v[i]);
    std::vector<float> sorted = sizes;
    std::sort(sorted.begin(), sorted.end());
    for (const double sparsity : {0.00001, 0.5, 0.9, 0.99999}) {
      const Index drop = std::llround(sparsity * static_cast<double>(n));
      const float boundary = sorted[drop - 1];
      Index stay = std::upper_bound(sorted.begin(), sorted.end(), boundary) - sorted.begin() - drop;
      const Mask mask = Magnitude{sparsity}.select(x, {});
      Index wrong = 0;
      for (Index i = 0; i < n; ++i)
        wrong += mask[i] != (sizes[i] > boundary || (sizes[i] == boundary && stay-- > 0));
      CHECK_MESSAGE(wrong == 0, steps, " steps, sparsity ", sparsity);
    }
  }
}
