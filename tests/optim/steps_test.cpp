// SPDX-License-Identifier: Apache-2.0
// Steps with results computed by hand.
#include <doctest/doctest.h>

#include "libsten/training/optim/adamw.h"
#include "libsten/training/optim/sgd.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

std::vector<float> values(const Tensor& t) { return floats(t.to_dense()); }

void check_near(const std::vector<float>& got, const std::vector<double>& want) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(want[i]));
}

}  // namespace

TEST_CASE("plain SGD subtracts the gradient times the learning rate, and has no state") {
  Parameter p(Dense::of({2, 2}, {1, -2, 3, 0}));
  Sgd({.rate = 0.5}).step(p, Dense::of({2, 2}, {2, 2, -4, 0}));
  CHECK(values(p.value) == std::vector<float>{0, -3, 5, 0});
  CHECK(p.state.empty());
}

TEST_CASE("SGD has PyTorch's default learning rate of 0.001") {
  Parameter p(Dense::of({1}, {0}));
  Sgd().step(p, Dense::of({1}, {1000}));
  check_near(values(p.value), {-1});
}

TEST_CASE("SGD's momentum starts as the first gradient, and Nesterov momentum looks a step ahead") {
  const Dense g = Dense::of({1}, {1});
  Parameter p(Dense::of({1}, {10}));
  const Sgd sgd({.rate = 1, .momentum = 0.5});
  sgd.step(p, g);
  check_near(values(p.value), {9});
  sgd.step(p, g);  // momentum 1.5
  check_near(values(p.value), {7.5});
  CHECK(values(p.state.at("momentum")) == std::vector<float>{1.5});

  Parameter q(Dense::of({1}, {10}));
  const Sgd nesterov({.rate = 1, .momentum = 0.5, .nesterov = true});
  nesterov.step(q, g);  // 1 + 0.5 * 1
  check_near(values(q.value), {8.5});
  nesterov.step(q, g);  // 1 + 0.5 * 1.5
  check_near(values(q.value), {6.75});
}

TEST_CASE("SGD adds weight decay to the gradient before momentum") {
  Parameter p(Dense::of({1}, {10}));
  Sgd({.rate = 0.1, .momentum = 0.9, .weight_decay = 0.2}).step(p, Dense::of({1}, {1}));
  check_near(values(p.value), {9.7});
  check_near(values(p.state.at("momentum")), {3});
}

TEST_CASE("the first AdamW step has the size of the learning rate for any nonzero gradient") {
  Parameter p(Dense::of({3}, {0, 0, 0}));
  AdamW({.rate = 0.25}).step(p, Dense::of({3}, {1e-3F, -500, 0}));
  const auto v = values(p.value);
  CHECK(v[0] == doctest::Approx(-0.25).epsilon(1e-4));
  CHECK(v[1] == doctest::Approx(0.25).epsilon(1e-4));
  CHECK(v[2] == 0);
  CHECK(p.state.at("step").to_dense().values.as<std::int64_t>()[0] == 1);
}

TEST_CASE("AdamW decouples weight decay from its moments") {
  Parameter p(Dense::of({1}, {10}));
  AdamW({.rate = 0.1, .weight_decay = 0.5}).step(p, Dense::of({1}, {0}));
  check_near(values(p.value), {9.5});
  CHECK(values(p.state.at("m")) == std::vector<float>{0});
  CHECK(values(p.state.at("v")) == std::vector<float>{0});
}

TEST_CASE("the learning rate can change between steps") {
  Parameter p(Dense::of({1}, {0}));
  Sgd sgd({.rate = 1});
  sgd.step(p, Dense::of({1}, {1}));
  sgd.options.rate = 0.25;
  sgd.step(p, Dense::of({1}, {1}));
  check_near(values(p.value), {-1.25});
}

TEST_CASE("a step updates the weight in place unless another tensor shares its memory") {
  Parameter p(Dense::of({2}, {1, 2}));
  const Dense g = Dense::of({2}, {1, 1});
  const Sgd sgd({.rate = 1, .momentum = 0.5});
  sgd.step(p, g);
  const auto* weight = p.value.values()->bytes().data();
  const auto* momentum = p.state.at("momentum").values()->bytes().data();
  sgd.step(p, g);
  CHECK(p.value.values()->bytes().data() == weight);
  CHECK(p.state.at("momentum").values()->bytes().data() == momentum);

  const Tensor before = p.value;
  const auto was = values(before);
  sgd.step(p, g);
  CHECK(p.value.values()->bytes().data() != weight);
  CHECK(values(before) == was);
}

TEST_CASE("SGD and AdamW reject invalid options") {
  Parameter p("w", Dense::of({1}, {0}));
  const Dense g = Dense::of({1}, {1});
  const auto sgd = [&](SgdOptions o) { return fault_of([&] { Sgd(o).step(p, g); }); };
  const auto adam = [&](AdamWOptions o) { return fault_of([&] { AdamW(o).step(p, g); }); };
  CHECK(sgd({.rate = -1}) == Fault::usage);
  CHECK(sgd({.rate = NAN}) == Fault::usage);
  CHECK(sgd({.momentum = -0.1}) == Fault::usage);
  CHECK(sgd({.weight_decay = -1}) == Fault::usage);
  CHECK(sgd({.momentum = 0, .nesterov = true}) == Fault::usage);
  CHECK(adam({.rate = -1}) == Fault::usage);
  CHECK(adam({.beta1 = 1}) == Fault::usage);
  CHECK(adam({.beta2 = -0.5}) == Fault::usage);
  CHECK(adam({.eps = 0}) == Fault::usage);
  CHECK(adam({.weight_decay = -1}) == Fault::usage);
  CHECK(values(p.value) == std::vector<float>{0});
  CHECK(p.state.empty());
}
