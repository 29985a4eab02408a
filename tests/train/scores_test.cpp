// Scores that are learned with the weights.
#include <doctest/doctest.h>

#include <cmath>

#include "libsten/dispatch/registry.h"
#include "tests/train/small_runs.h"

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

// sum(seed * computing) + penalty times what scores cost.
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
    // Values are float32, and so is what the step of a difference adds to them.
    CHECK(floats(by_w)[i] == doctest::Approx(slope(w)).epsilon(2e-3).scale(1));
    CHECK(floats(by_scores)[i] == doctest::Approx(slope(scores)).epsilon(2e-3).scale(1));
  }
}

}  // namespace

TEST_CASE("gradients of gates are those of differences, with the same sample") {
  check_gradients("l0", -3, 3);
}

TEST_CASE("samples are the same at any number of threads, and others in another step") {
  Dice dice(8);
  const Shape shape{300, 70};
  const Dense w = normals(dice, shape), scores = normals(dice, shape);
  for (const char* by : {"l0"}) {
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

TEST_CASE("gates shut under their penalty, and what is left has learned") {
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
  // What is measured of it is what it becomes.
  t->step();
  CHECK(t->state().scores.empty());
  CHECK(same_mask(mask_in(*t, scored_weight), before.at(scored_weight).stored()));
  const double sparsity = t->sparsity();
  while (!t->is_done()) t->step();
  CHECK(t->sparsity() == sparsity);
  CHECK(same_mask(mask_in(*t, scored_weight), before.at(scored_weight).stored()));
  CHECK(accuracy(*t) > 0.9);
}

TEST_CASE("a greater penalty shuts more gates, and it rises from 0") {
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

TEST_CASE("scores of a batch in parts are those of the batch, up to rounding") {
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

TEST_CASE("before the schedule's begin weights compute as they are, and scores wait") {
  const TempDir dir;
  Recipe r = learned(dir, "l0", 1e-3);
  r.sparsity[0].schedule.begin = 5;
  const auto t = trainer_of(r), dense = trainer_of(small_mlp(dir));
  for (int i = 0; i < 5; ++i) CHECK(t->step().loss == dense->step().loss);
  CHECK(t->sparsity() == 0);
  for (const float s : floats(t->state().scores.at(scored_weight).to_dense())) CHECK(s == 2);
  CHECK(t->step().loss != dense->step().loss);
}

TEST_CASE("the last stage has to come before scores end") {
  const TempDir dir;
  Recipe r = learned(dir, "l0", 1e-3);
  r.sparsity[0].schedule.begin = 8;
  r.sparsity[0].scores->end = 8;
  CHECK(error_of([&] { trainer_of(r); }) ==
        "/sparsity/0/scores/end: 8 is not after the last stage, of step 8");
}
