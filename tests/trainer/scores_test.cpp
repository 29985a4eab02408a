// SPDX-License-Identifier: Apache-2.0
// Learned scores.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "libsten/core/registry/registry.h"
#include "tests/trainer/small_runs.h"

using namespace sten;
using namespace sten::testing;

namespace {

constexpr const char* scored_weight = "layers.1.weight";

Recipe learned(const TempDir& dir, const char* by, double penalty) {
  Recipe r = small_mlp(dir);
  r.sparsity = {sparse("layers.[01].weight", by)};
  r.sparsity[0].scores = {.rate = 0.05, .penalty = penalty, .initial = 2, .end = r.steps};
  return r;
}

double accuracy(const Trainer& t) {
  return t.task().measure(t.weights(), DataSplit::validation).accuracy;
}

// sum(seed * computed weight) + penalty times the cost of the scores.
double objective(const LearnedScores& l, const ScoredWeight& x, const Dense& seed, double penalty) {
  const auto y = floats(l.computing(x)), by = floats(seed);
  double sum = penalty * l.penalty_of(x);
  for (std::size_t i = 0; i < y.size(); ++i) sum += double{y[i]} * by[i];
  return sum;
}

void check_gradients(const char* sparsifier, double lowest, double highest) {
  Dice dice(7);
  const Shape shape{6, 7};
  const LearnedScores& l = learned_scores(Spec(sparsifier));
  Dense w = normals(dice, shape), scores = normals(dice, shape), seed = normals(dice, shape);
  for (float& s : scores.values.mutate<float>())
    s = static_cast<float>(lowest + (highest - lowest) / (1 + std::exp(-double{s})));
  constexpr double penalty = 0.3;
  constexpr float h = 1e-3F;
  Dense by_w = seed;
  const Dense by_scores = l.backward({w, scores, nullptr, 99}, penalty, by_w);
  for (Index i = 0; i < w.size(); ++i) {
    CAPTURE(i);
    const auto slope = [&](Dense& of) {
      const float was = of.values.mutate<float>()[i];
      of.values.mutate<float>()[i] = was + h;
      const double up = objective(l, {w, scores, nullptr, 99}, seed, penalty);
      of.values.mutate<float>()[i] = was - h;
      const double down = objective(l, {w, scores, nullptr, 99}, seed, penalty);
      of.values.mutate<float>()[i] = was;
      return (up - down) / (2 * h);
    };
    // Values are float32, and so is the step of the difference quotient.
    CHECK(floats(by_w)[i] == doctest::Approx(slope(w)).epsilon(2e-3).scale(1));
    CHECK(floats(by_scores)[i] == doctest::Approx(slope(scores)).epsilon(2e-3).scale(1));
  }
}

}  // namespace

TEST_CASE("gradients of l0 gates match finite differences for the same sample") {
  check_gradients("l0", -3, 3);
}

TEST_CASE("gradients of variational dropout and its KL term match finite differences") {
  check_gradients("variational-dropout", -7, -1);
}

TEST_CASE("movement masks the weights and passes gradients straight through to the scores") {
  const Dense w = f32({2, 2}, {1, -2, 3, -4}), s = f32({2, 2}, {0.5, -1, 0, -2});
  const Mask kept = mask_of({2, 2}, {1, 0, 1, 0});
  for (const char* by : {"movement", "soft-movement"}) {
    const LearnedScores& l = learned_scores(Spec(by));
    const ScoredWeight x{w, s, &kept, 0};
    CHECK(floats(l.computing(x)) == std::vector<float>{1, 0, 3, 0});
    Dense g = f32({2, 2}, {10, 20, 30, 40});
    const auto by_scores = floats(l.backward(x, 0, g));
    CHECK(floats(g) == std::vector<float>{10, 0, 30, 0});
    CHECK(by_scores == std::vector<float>{10, -40, 90, -160});
    CHECK(floats(l.measured(x)) == floats(w));
  }
  // sigmoid(s), and its term in the gradient of the scores.
  const LearnedScores& soft = learned_scores(Spec("soft-movement"));
  const ScoredWeight x{w, s, &kept, 0};
  CHECK(soft.penalty_of(x) == doctest::Approx(0.622459 + 0.268941 + 0.5 + 0.119203));
  Dense none = Dense::zeros(DType::F32, {2, 2});
  CHECK(floats(soft.backward(x, 2, none))[2] == doctest::Approx(2 * 0.25));
}

TEST_CASE("random samples are bit-identical with 1 and 3 threads and differ between seeds") {
  Dice dice(8);
  const Shape shape{300, 70};
  const Dense w = normals(dice, shape), scores = normals(dice, shape);
  for (const char* by : {"l0", "variational-dropout"}) {
    CAPTURE(by);
    const LearnedScores& l = learned_scores(Spec(by));
    std::optional<Dense> one;
    for (const int n : {1, 3}) {
      const Threads scope(n);
      const Dense y = l.computing({w, scores, nullptr, 5});
      if (one) CHECK(same_bits(y, *one));
      one = y;
    }
    CHECK_FALSE(same_bits(l.computing({w, scores, nullptr, 6}), *one));
  }
}

TEST_CASE("l0 prunes most weights at over 90 % accuracy, and fixes the mask when scores end") {
  const TempDir dir;
  Recipe r = learned(dir, "l0", 2e-3);
  r.steps = 400;
  r.sparsity[0].scores->end = 300;
  const auto t = trainer_of(r);
  while (t->state().step < 300) t->step();
  const auto before = t->weights();
  CHECK(t->sparsity() > 0.6);
  CHECK(accuracy(*t) > 0.9);
  CHECK(parameter(*t, scored_weight).value.is<Dense>());
  // The measured sparsity is that of the final weight.
  t->step();
  CHECK(t->state().scores.empty());
  CHECK(same_mask(mask_in(*t, scored_weight), before.at(scored_weight).stored()));
  const double sparsity = t->sparsity();
  while (!t->is_done()) t->step();
  CHECK(t->sparsity() == sparsity);
  CHECK(same_mask(mask_in(*t, scored_weight), before.at(scored_weight).stored()));
  CHECK(accuracy(*t) > 0.9);
}

TEST_CASE("variational dropout prunes over half of the weights at over 90 % accuracy") {
  const TempDir dir;
  Recipe r = learned(dir, "variational-dropout", 1e-2);
  r.steps = 600;
  r.sparsity[0].scores->initial = -8;
  r.sparsity[0].scores->warmup = 100;
  r.sparsity[0].scores->end = 500;
  const auto t = trainer_of(r);
  while (!t->is_done()) t->step();
  CHECK(t->sparsity() > 0.5);
  CHECK(accuracy(*t) > 0.9);
}

TEST_CASE("soft movement prunes over half of the weights at over 90 % accuracy") {
  const TempDir dir;
  Recipe r = learned(dir, "soft-movement:at=0.1", 2e-3);
  r.steps = 400;
  r.sparsity[0].scores->initial = 0;
  r.sparsity[0].scores->end = 300;
  const auto t = trainer_of(r);
  while (!t->is_done()) t->step();
  CHECK(t->sparsity() > 0.5);
  CHECK(accuracy(*t) > 0.9);
}

TEST_CASE("movement reaches its stage's sparsity with scores that train from the first step") {
  const TempDir dir;
  Recipe r = learned(dir, "movement:sparsity=0.8", 0);
  r.steps = 400;
  r.sparsity[0].scores->initial = 0;
  r.sparsity[0].scores->end = 300;
  ScheduleRecipe& schedule = r.sparsity[0].schedule;
  schedule.kind = "cubic";
  schedule.to = 0.8;
  schedule.stages = 10;
  schedule.begin = 20;
  schedule.end = 220;
  const auto t = trainer_of(r);
  for (int i = 0; i < 10; ++i) t->step();
  CHECK(t->sparsity() == 0);
  // Except for units whose activation is never above 0.
  const auto scores = floats(t->state().scores.at(scored_weight).to_dense());
  CHECK(std::ranges::count(scores, 0.0F) < std::ssize(scores) / 5);
  while (t->state().step < 250) t->step();
  CHECK(t->sparsity() == doctest::Approx(0.8).epsilon(1e-3));
  // Pruned weights keep their values, and can come back.
  CHECK(parameter(*t, scored_weight).value.is<Dense>());
  const Mask before = t->weights().at(scored_weight).stored();
  while (!t->is_done()) t->step();
  CHECK_FALSE(same_mask(before, mask_in(*t, scored_weight)));
  CHECK(t->sparsity() == doctest::Approx(0.8).epsilon(1e-3));
  CHECK(accuracy(*t) > 0.9);
}

TEST_CASE("a larger l0 penalty prunes more, and a longer penalty warm-up prunes less") {
  const TempDir dir;
  double last = -1;
  for (const double penalty : {1e-4, 1e-3, 1e-2}) {
    Recipe r = learned(dir, "l0", penalty);
    r.steps = 150;
    r.sparsity[0].scores->end = 150;
    const auto t = trainer_of(r);
    while (!t->is_done()) t->step();
    CHECK(t->sparsity() > last);
    last = t->sparsity();
    r.sparsity[0].scores->warmup = 1500;
    const auto slow = trainer_of(r);
    while (!slow->is_done()) slow->step();
    CHECK(slow->sparsity() < t->sparsity());
  }
}

TEST_CASE("learned scores with gradient accumulation match the whole batch up to rounding") {
  const TempDir dir;
  Recipe r = learned(dir, "l0", 1e-3);
  r.optimizer.kind = "sgd";
  r.sparsity[0].scores->rate = 1;
  Recipe parts = r;
  parts.accumulate = 4;
  const auto a = trainer_of(r), b = trainer_of(parts);
  while (!a->is_done()) {
    const double loss = a->step().loss;
    CHECK(b->step().loss == doctest::Approx(loss).epsilon(1e-5));
  }
  const auto x = floats(a->state().scores.at(scored_weight).to_dense()),
             y = floats(b->state().scores.at(scored_weight).to_dense());
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(y[i] == doctest::Approx(x[i]).epsilon(1e-4));
}

TEST_CASE("before the schedule begins, l0 trains as dense and leaves scores unchanged") {
  const TempDir dir;
  Recipe r = learned(dir, "l0", 1e-3);
  r.sparsity[0].schedule.begin = 5;
  const auto t = trainer_of(r), dense = trainer_of(small_mlp(dir));
  for (int i = 0; i < 5; ++i) CHECK(t->step().loss == dense->step().loss);
  CHECK(t->sparsity() == 0);
  for (const float s : floats(t->state().scores.at(scored_weight).to_dense())) CHECK(s == 2);
  CHECK(t->step().loss != dense->step().loss);
}

TEST_CASE("learned scores that end no later than the last stage are rejected") {
  const TempDir dir;
  Recipe r = learned(dir, "l0", 1e-3);
  r.sparsity[0].schedule.begin = 8;
  r.sparsity[0].scores->end = 8;
  CHECK(error_of([&] { trainer_of(r); }) ==
        "/sparsity/0/scores/end: 8 must be after the last stage, at step 8");
}
