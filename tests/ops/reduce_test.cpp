// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "libsten/compute/ops/common/operators.h"
#include "tests/ops/operands.h"

using namespace sten;
using namespace sten::testing;

namespace {

float value(const Tensor& scalar) {
  REQUIRE(scalar.shape() == Shape{});
  return floats(scalar.to_dense())[0];
}

}  // namespace

TEST_CASE("sum and mean reduce the given axes, or all axes by default") {
  const Tensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(value(sum(x)) == 21);
  CHECK(value(mean(x)) == 3.5f);
  CHECK(is(sum(x, {0}), tensor({3}, {5, 7, 9})));
  CHECK(is(mean(x, {-1}), tensor({2}, {2, 5})));
  CHECK(is(sum(x, {1}, true), tensor({2, 1}, {6, 15})));
  CHECK(is(mean(x, {1, 0}, true), tensor({1, 1}, {3.5})));
  CHECK(is(sum(tensor({0, 3}, {}), {0}), tensor({3}, {0, 0, 0})));
  CHECK(is(sum(tensor({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), {0, 2}), tensor({2}, {14, 22})));
}

TEST_CASE("sum and mean of a million small values lose no precision") {
  const Tensor x = tensor({1 << 20}, std::vector<float>(1 << 20, 0.1f));
  CHECK(value(sum(x)) == static_cast<float>((1 << 20) * double{0.1f}));
  CHECK(value(mean(x)) == 0.1f);
}

TEST_CASE("the gradients of sum and mean are broadcast over the reduced axes") {
  Tape tape;
  const Var x = tape.parameter(tensor({2, 2}, {1, 2, 3, 4}));
  tape.backward(sum(x, {0}), tensor({2}, {5, 6}), true);
  CHECK(is(*x.grad(), tensor({2, 2}, {5, 6, 5, 6})));
  tape.backward(mean(x));
  CHECK(is(*x.grad(), tensor({2, 2}, {5.25, 6.25, 5.25, 6.25})));
}

TEST_CASE("cross-entropy averages the loss over the targets that are not ignored") {
  const float ln3 = std::log(3.0f);
  // Probabilities 1/4 and 3/4, then 1/2 and 1/2.
  const Tensor x = tensor({3, 2}, {0, ln3, 8, 8, 1, 5});
  CHECK(value(cross_entropy(x, int64s({0, 1, -100}))) ==
        doctest::Approx((std::log(4) + std::log(2)) / 2));
  CHECK(value(cross_entropy(x, int64s({0, 1, 1}), 1)) == doctest::Approx(std::log(4)));
  CHECK(value(cross_entropy(x, int64s({-100, -100, -100}))) == 0);
  CHECK(value(cross_entropy(tensor({1, 2}, {-1000, 1000}), int64s({0}))) == 2000);
  Tape tape;
  const Var p = tape.parameter(x);
  tape.backward(cross_entropy(p, int64s({0, 1, -100})));
  const std::vector<float> expected{-0.375, 0.375, 0.25, -0.25, 0, 0};
  const std::vector<float> dx = floats(p.grad()->to_dense());
  for (std::size_t i = 0; i < dx.size(); ++i) CHECK(dx[i] == doctest::Approx(expected[i]));
}

TEST_CASE("label smoothing mixes the hard loss with the mean loss over all classes") {
  // log-softmax of log(1, 2, 5) is log(1/8, 2/8, 5/8).
  const Tensor x = tensor({1, 3}, {0, std::log(2.0F), std::log(5.0F)});
  const double hard = -std::log(5.0 / 8), all = -std::log(1.0 / 8 * 2 / 8 * 5 / 8) / 3;
  const auto smoothed = [&](double e) {
    return value(
        apply_to<Tensor>("cross-entropy", {x, int64s({2})}, Attributes().set("smoothing", e)));
  };
  CHECK(smoothed(0.1) == doctest::Approx(0.9 * hard + 0.1 * all));
  CHECK(error_of([&] { smoothed(1); }) == "cross-entropy: smoothing must be in [0, 1), got 1");
}

TEST_CASE("kl-divergence matches its definition with a temperature and ignored targets") {
  const Tensor wanted = tensor({2, 2}, {0, std::log(3.0F), 7, 7});  // 1/4, 3/4
  const Tensor x = tensor({2, 2}, {5, 5, 0, 1});                    // 1/2, 1/2
  const double apart = 0.25 * std::log(0.5) + 0.75 * std::log(1.5);
  CHECK(value(kl_divergence(x, wanted, int64s({1, -100}))) == doctest::Approx(apart));
  CHECK(value(kl_divergence(wanted, wanted, int64s({1, 0}), 3)) == doctest::Approx(0));
  // At temperature 2, doubled logits give the same divergence, and the loss is four times as large.
  CHECK(value(kl_divergence(tensor({2, 2}, {10, 10, 0, 1}),
                            tensor({2, 2}, {0, 2 * std::log(3.0F), 7, 7}), int64s({1, -100}), 2)) ==
        doctest::Approx(4 * apart));
  CHECK(value(kl_divergence(x, wanted, int64s({-100, -100}))) == 0);
  CHECK(error_of([&] {
          kl_divergence(x, wanted, int64s({1, 1}), 0);
        }) == "kl-divergence: temperature must be > 0, got 0");
}

TEST_CASE("mse is the mean of the squared differences") {
  Tape tape;
  const Var x = tape.parameter(tensor({2}, {1, 5})), y = tape.parameter(tensor({2}, {2, 2}));
  const Var loss = mse(x, y);
  CHECK(value(loss.value()) == 5);
  tape.backward(loss);
  CHECK(is(*x.grad(), tensor({2}, {-1, 3})));
  CHECK(is(*y.grad(), tensor({2}, {1, -3})));
}

TEST_CASE("reductions and losses reject invalid axes, shapes, dtypes and targets") {
  const Tensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(error_of([&] { sum(x, {2}); }) == "sum: [2, 3] has no axis 2");
  CHECK(error_of([&] { mean(x, {1, -1}); }) == "mean: axis -1 occurs twice in [1, -1]");
  CHECK(error_of([&] { cross_entropy(x, int64s({0})); }) ==
        "cross-entropy: logits and targets must be [..., C] and [...], got [2, 3] and [1]");
  CHECK(error_of([&] {
          cross_entropy(x, int64s({0, 3}));
        }) == "cross-entropy: targets[1] must be in [0, 3), got 3");
  CHECK(error_of([&] {
          cross_entropy(x, tensor({2}, {0, 1}));
        }) == "cross-entropy: targets must be I64 or I32, got F32");
  CHECK(error_of([&] { mse(x, tensor({3}, {1, 2, 3})); }) == "mse: x is [2, 3] but y is [3]");
}
