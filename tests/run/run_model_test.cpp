// SPDX-License-Identifier: Apache-2.0
// Measures of sten-run on values that can be checked by hand.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "libsten/programs/measure/comparison.h"
#include "libsten/programs/run/given_inputs.h"
#include "libsten/programs/run/latency.h"
#include "libsten/programs/run/named_outputs.h"
#include "libsten/training/task/predictions.h"

using namespace sten;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
const float nan_value = std::nanf("");

double fact(const Report& r, std::string_view key) {
  for (const auto& [name, cell] : r.facts)
    if (name == key) return std::get<double>(cell);
  FAIL("there is no fact " << key);
  return 0;
}

}  // namespace

TEST_CASE("the loss of predictions is the cross-entropy of softmax, without ignored labels") {
  const Dense logits = Dense::of({3, 2}, {0, 0, std::log(3.0f), 0, 5, 9});
  Dense labels = Dense::zeros(DType::I64, {3});
  labels.values.mutate<std::int64_t>()[1] = 0;
  labels.values.mutate<std::int64_t>()[2] = ignored_label;
  const Measured m = predictions_of(logits, labels).measured();
  CHECK(m.count == 2);
  CHECK(m.accuracy == 1);  // equal logits count as the first class
  CHECK(m.loss == doctest::Approx((std::log(2.0) + std::log(4.0 / 3)) / 2));
  CHECK(PredictionSums().measured().count == 0);
}

TEST_CASE("OutputDifference has the largest and mean difference; NaN equals NaN, but no number") {
  OutputDifference d;
  d.add(Dense::of({3}, {1, 2, 3}), Dense::of({3}, {1, 2.5, 1}));
  CHECK(d.largest == 2);
  CHECK(d.mean() == doctest::Approx(2.5 / 3));
  OutputDifference alike;
  alike.add(Dense::of({2}, {nan_value, infinity}), Dense::of({2}, {nan_value, infinity}));
  CHECK(alike.largest == 0);
  for (const float other : {nan_value, infinity, -infinity}) {
    OutputDifference broken;
    broken.add(Dense::of({1}, {other}), Dense::of({1}, {1}));
    CHECK(std::isinf(broken.largest));
  }
}

TEST_CASE(
    "LogitsDifference has the share of equal top classes and the KL divergence from a reference") {
  LogitsDifference d;
  d.add(Dense::of({2, 2}, {1, 0, 0, 1}), Dense::of({2, 2}, {3, 0, 1, 0}));
  CHECK(d.rows == 2);
  CHECK(d.agreement() == 0.5);
  // KL(p || q) by hand: p of the reference, q of the logits.
  const auto p = [](double a) { return 1 / (1 + std::exp(-a)); };
  const auto kl = [](double p, double q) {
    return p * std::log(p / q) + (1 - p) * std::log((1 - p) / (1 - q));
  };
  CHECK(d.mean_divergence() == doctest::Approx((kl(p(3), p(1)) + kl(p(1), p(-1))) / 2));
  LogitsDifference same;
  same.add(Dense::of({1, 3}, {1, 2, 3}), Dense::of({1, 3}, {1, 2, 3}));
  CHECK(same.agreement() == 1);
  CHECK(same.mean_divergence() == doctest::Approx(0).epsilon(1e-12));
}

TEST_CASE("logits with NaN count neither as correct nor as in agreement") {
  for (const int at : {0, 1, 2}) {
    Dense broken = Dense::of({1, 3}, {1, 1, 1});
    broken.values.mutate<float>()[at] = nan_value;
    for (const Index label : {0, 1, 2}) {
      Dense labels = Dense::zeros(DType::I64, {1});
      labels.values.mutate<std::int64_t>()[0] = label;
      const Measured m = predictions_of(broken, labels).measured();
      CHECK(m.accuracy == 0);
      CHECK(std::isnan(m.loss));
    }
    for (const Dense& other : {broken, Dense::of({1, 3}, {1, 0, 0})}) {
      LogitsDifference d;
      d.add(broken, other);
      d.add(other, broken);
      CHECK(d.rows == 2);
      CHECK(d.agreement() == 0);
      CHECK(std::isnan(d.mean_divergence()));
    }
  }
  const Dense infinite = Dense::of({1, 2}, {-infinity, 0});
  LogitsDifference d;
  d.add(infinite, infinite);
  CHECK(d.agreement() == 1);
}

TEST_CASE("CollectedOutput concatenates batches of rows and summarizes all values") {
  CollectedOutput o("y", true);
  o.add(Dense::of({1, 2}, {1, -2}));
  o.add(Dense::of({2, 2}, {3, infinity, nan_value, 4}));
  CHECK(o.shape() == Shape{3, 2});
  CHECK(o.least() == -2);
  CHECK(o.most() == 4);
  CHECK(o.mean() == 1.5);
  CHECK(o.not_finite() == 2);
  CHECK(o.values().values.as<float>()[2] == 3);
  CHECK_THROWS_WITH(o.add(Dense::of({1, 3}, {1, 2, 3})),
                    "output 'y' has shape [3, 2], then [1, 3]: expected batches of rows");
  CollectedOutput broken("z", false);
  broken.add(Dense::of({1}, {nan_value}));
  CHECK(broken.finite() == 0);
  CHECK(o.finite() == 4);
  CollectedOutput scalar("loss", false);
  scalar.add(Dense::of({}, {1}));
  CHECK_THROWS(scalar.add(Dense::of({}, {1})));
}

TEST_CASE("exactly_as converts the dtype of an input only if every value stays exact") {
  const Dense whole = exactly_as(DType::F32, Dense{{2}, Values(DType::I32, 2)}, "x");
  CHECK(whole.dtype() == DType::F32);
  Dense large = Dense::zeros(DType::I64, {1});
  large.values.mutate<std::int64_t>()[0] = (std::int64_t{1} << 24) + 1;
  CHECK_THROWS_WITH(exactly_as(DType::F32, large, "x.npy"),
                    "x.npy: element [0] is 16777217, not exact in F32, the model's dtype");
  large.values.mutate<std::int64_t>()[0] = std::numeric_limits<std::int64_t>::max();
  CHECK_THROWS(exactly_as(DType::F32, large, "x.npy"));
  CHECK_THROWS(exactly_as(DType::I32, large, "x.npy"));
  large.values.mutate<std::int64_t>()[0] = -7;
  CHECK(exactly_as(DType::I32, large, "x").values.as<std::int32_t>()[0] == -7);
  CHECK_THROWS_WITH(exactly_as(DType::I64, Dense::of({1}, {1}), "x.npy"),
                    "x.npy: elements are F32, but the model takes I64");
  CHECK_THROWS(exactly_as(DType::BOOL, large, "x"));
}

TEST_CASE("Latency reports ordered percentiles and a positive throughput") {
  Latency l;
  Report none;
  l.add_to(none);
  CHECK(none.facts.empty());
  int runs = 0;
  for (int i = 0; i < 10; ++i) l.add(3, [&] { ++runs; });
  Report r;
  l.add_to(r);
  CHECK(runs == 10);
  CHECK(fact(r, "latency/min") <= fact(r, "latency/p50"));
  CHECK(fact(r, "latency/p50") <= fact(r, "latency/p90"));
  CHECK(fact(r, "latency/p90") <= fact(r, "latency/p99"));
  CHECK(fact(r, "throughput") > 0);
}
