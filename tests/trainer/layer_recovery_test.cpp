// SPDX-License-Identifier: Apache-2.0
// Layer-wise pruning until recovery: which layers are pruned, and which are left dense.
#include "libsten/training/trainer/layer_recovery.h"

#include <doctest/doctest.h>

#include <cmath>

#include "libsten/training/trainer/checkpoint.h"
#include "libsten/training/trainer/state_exchange.h"
#include "tests/support/thread_ranks.h"
#include "tests/trainer/small_runs.h"

using namespace sten;
using namespace sten::testing;

namespace {

// layers.0 to layers.2, with rounds of 3 steps from step 6 on.
Recipe until_recovered(const TempDir& dir, const std::string& sparsifier, double tolerance) {
  Recipe r = small_mlp(dir);
  r.steps = 36;
  r.sparsity = {sparse("layers.*.weight", sparsifier)};
  ScheduleRecipe& by = r.sparsity[0].schedule;
  by.kind = "layer-wise";
  by.begin = 6;
  by.end = 36;
  by.until = "recovered";
  by.recovery = {tolerance, 3, 2};
  return r;
}

struct RecoveryRun {
  std::vector<RecoveryState> recoveries;
  std::vector<std::pair<std::string, std::vector<std::byte>>> bits;
  std::vector<Index> sparse;  // kept elements of layers.0 to layers.2

  explicit RecoveryRun(Trainer& t) {
    while (!t.is_done()) t.step();
    recoveries = t.state().recoveries;
    bits = bits_of(t.state());
    for (int i = 0; i < 3; ++i)
      sparse.push_back(mask_in(t, fmt::format("layers.{}.weight", i)).count());
  }
  // "6+1, 9+3 dense": the step and the rounds of each layer.
  std::string text() const {
    std::string all;
    for (const TriedLayer& l : recoveries.at(0).layers)
      all += fmt::format("{}{}+{}{}", all.empty() ? "" : ", ", l.step, l.rounds.count,
                         l.is_dense ? " dense" : "");
    return all;
  }
};

RecoveryRun recovery_alone(const Recipe& r) {
  const auto t = trainer_of(r);
  return RecoveryRun(*t);
}

bool have_same_bits(const Parameter& a, const Parameter& b) {
  TrainState x, y;
  x.parameters = {a};
  y.parameters = {b};
  return bits_of(x) == bits_of(y);
}

}  // namespace

TEST_CASE("the recovery rule gives up at its round limit or without a lower loss") {
  const RecoveryRule rule{0.1, 4, 2};
  RecoveryRounds rounds;
  CHECK(rounds.add(rule, 1, 3) == Recovery::train_again);
  CHECK(rounds.add(rule, 1, 2) == Recovery::train_again);
  CHECK(rounds.add(rule, 1, 2) == Recovery::train_again);  // the first without a lower loss
  CHECK(RecoveryRounds(rounds).add(rule, 1, 2.5) == Recovery::no_lower_loss);
  CHECK(RecoveryRounds(rounds).add(rule, 1, 1.5) == Recovery::out_of_rounds);
  CHECK(RecoveryRounds(rounds).add(rule, 1, 1.1) == Recovery::recovered);
  CHECK(rounds.count == 3);
  // A tolerance is relative to the magnitude of a negative loss.
  CHECK(RecoveryRounds{}.add(rule, -1, -0.9) == Recovery::recovered);
  CHECK(RecoveryRounds{}.add(rule, -1, -0.8) == Recovery::train_again);
  // NaN is no progress.
  RecoveryRounds nan;
  CHECK(nan.add(rule, 1, NAN) == Recovery::train_again);
  CHECK(nan.add(rule, 1, NAN) == Recovery::train_again);
  CHECK(nan.add(rule, 1, NAN) == Recovery::no_lower_loss);
}

TEST_CASE("each round in which the loss recovers prunes the next layer") {
  const TempDir dir;
  const auto t = trainer_of(until_recovered(dir, "magnitude:sparsity=0.5", 100));
  std::vector<Index> kept;
  while (!t->is_done()) {
    t->step();
    kept.push_back(static_cast<Index>(std::round((1 - t->sparsity()) * 1664)));
    CHECK(t->is_sparse_as_planned() == (t->state().step >= 15));
  }
  for (Index step = 0; step < 36; ++step) {
    CAPTURE(step);
    // Of 512, 1024 and 128 elements.
    const Index pruned = step < 6 ? 0 : step < 9 ? 256 : step < 12 ? 768 : 832;
    CHECK(kept[static_cast<std::size_t>(step)] == 1664 - pruned);
  }
}

TEST_CASE("a layer that does not recover returns to its dense values from before pruning") {
  const TempDir dir;
  Recipe r = until_recovered(dir, "magnitude:sparsity=0.5", 100);
  // Without layers.1 the model knows nothing of its input.
  r.sparsity[0].target = "layers.1.weight";
  r.sparsity[0].sparsifier = Spec::parse("magnitude:sparsity=1");
  r.sparsity[0].schedule.recovery = {0.01, 2, 5};
  SUBCASE("masked") {}
  SUBCASE("csr") { r.sparsity[0].layout = Spec("csr"); }
  SUBCASE("EMA") { r.ema = 0.9; }
  SUBCASE("straight-through") { r.sparsity[0].mask.kind = "straight-through"; }
  SUBCASE("refreshed mask") { r.sparsity[0].mask = {"refresh", 4}; }
  const auto t = trainer_of(r);
  while (t->state().step < 6) t->step();
  const Parameter before = parameter(*t, "layers.1.weight");
  // Two rounds of 15 steps.
  while (t->state().step < 36) {
    t->step();
    if (t->state().step < 36) CHECK(t->sparsity() == 1024.0 / 1024);
  }
  CHECK(t->state().recoveries[0].layers[0].is_dense);
  CHECK(have_same_bits(parameter(*t, "layers.1.weight"), before));
  CHECK(t->sparsity() == 0);
  CHECK(t->is_sparse_as_planned());
  // Other weights keep what they learned.
  CHECK(t->weights().at("layers.1.weight").is<Dense>());
}

TEST_CASE("only the layer that does not recover is left dense") {
  const TempDir dir;
  Recipe r = until_recovered(dir, "magnitude:sparsity=0.5", 100);
  // Only the middle layer is pruned to nothing.
  SparsityRecipe hopeless = r.sparsity[0];
  hopeless.target = "layers.1.weight";
  hopeless.sparsifier = Spec::parse("magnitude:sparsity=1");
  hopeless.schedule.recovery = {0.01, 2, 5};
  r.sparsity[0].target = "re:^layers\\.[02]\\.weight$";
  r.sparsity.push_back(hopeless);
  const RecoveryRun run = recovery_alone(r);
  CHECK(run.text() == "6+1, 11+1");
  CHECK(run.recoveries[1].layers[0].is_dense);
  CHECK(run.sparse == std::vector<Index>{256, 1024, 64});
}

TEST_CASE("pruning until recovery resumes bit-identically from checkpoints at every second step") {
  const TempDir dir;
  Recipe r = until_recovered(dir, "magnitude:sparsity=0.95", 0.3);
  SUBCASE("adamw") {}
  SUBCASE("sgd with momentum") {
    r.optimizer = {.kind = "sgd", .rate = 0.05, .momentum = 0.9};
    r.sparsity[0].schedule.recovery.tolerance = 0;
    r.sparsity[0].sparsifier = Spec::parse("magnitude:sparsity=0.97");
  }
  SUBCASE("EMA") {
    r.ema = 0.9;
    r.sparsity[0].schedule.recovery.tolerance = 0;
  }
  SUBCASE("csr") { r.sparsity[0].layout = Spec("csr"); }
  const RecoveryRun whole = recovery_alone(r);
  CAPTURE(whole.text());
  // A layer recovers, and another one does not, or the test tests little.
  CHECK(whole.text().find("dense") != std::string::npos);
  const auto first = trainer_of(r);
  for (Index step = 1; step <= 36; ++step) {
    CAPTURE(step);
    first->step();
    if (step % 2) continue;
    const std::string path = dir / fmt::format("checkpoint-{}", step);
    OutputDirectory to(path, false);
    write_checkpoint(to, first->task().graph(), first->state(), {});
    to.commit();
    const auto second = trainer_of(r);
    second->restore(read_checkpoint(path, first->task().graph()).state);
    CHECK(second->sparsity() == first->sparsity());
    CHECK(RecoveryRun(*second).bits == whole.bits);
  }
}

TEST_CASE("two ranks prune the same layers as one process and resume bit-identically") {
  const TempDir dir;
  const Recipe r = until_recovered(dir, "magnitude:sparsity=0.95", 0.3);
  const RecoveryRun wanted = recovery_alone(r);
  std::vector<std::optional<RecoveryRun>> runs(2);
  std::optional<TrainState> half;
  in_threads(2, [&](const auto& ranks) {
    Trainer t(std::make_shared<const Task>(r, TaskUse{.ranks = 2}), ranks);
    while (t.state().step < 13) t.step();
    if (ranks->rank() == 0) half = t.state();
    runs[static_cast<std::size_t>(ranks->rank())].emplace(t);
    t.check_ranks();
  });
  for (const auto& run : runs) CHECK(run->text() == wanted.text());
  CHECK(runs[0]->bits == runs[1]->bits);
  // Resumed with the state of rank 0.
  in_threads(2, [&](const auto& ranks) {
    Trainer t(std::make_shared<const Task>(r, TaskUse{.ranks = 2}), ranks);
    TrainState state;
    if (ranks->rank() == 0) state = *half;
    broadcast_state(*ranks, state);
    t.restore(std::move(state));
    CHECK(RecoveryRun(t).bits == runs[0]->bits);
  });
}

TEST_CASE("pruning until recovery prunes all layers of an MLP, BERT, GPT and wide ResNet") {
  const TempDir mlp, of_bert, of_gpt, of_images;
  for (Recipe r :
       {small_mlp(mlp), small_bert(of_bert), small_gpt(of_gpt), small_wide_resnet(of_images)}) {
    CAPTURE(r.name);
    r.sparsity = {sparse("*.weight", "magnitude:sparsity=0.5")};
    ScheduleRecipe& by = r.sparsity[0].schedule;
    by.kind = "layer-wise";
    by.until = "recovered";
    by.recovery = {1000, 1, 1};
    r.steps = 40;
    const auto t = trainer_of(r);
    while (!t->is_done()) t->step();
    CHECK(t->state().recoveries[0].layers.size() == t->stages().size());
    CHECK(t->sparsity() == doctest::Approx(0.5).epsilon(0.01));
  }
}

TEST_CASE("pruning until recovery rejects a state that does not fit the recipe or the step") {
  const TempDir dir;
  const Recipe r = until_recovered(dir, "magnitude:sparsity=0.5", 100);
  const auto t = trainer_of(r);
  while (t->state().step < 10) t->step();
  const auto error_with = [&](auto&& change) {
    TrainState s = t->state();
    change(s);
    return error_of([&] { trainer_of(r)->restore(std::move(s)); });
  };
  CHECK(error_with([](TrainState&) {}).empty());
  CHECK(error_with([](TrainState& s) { s.recoveries.clear(); }) ==
        "state of pruning until recovery does not fit the entries of the recipe");
  const std::string other =
      "state of /sparsity/0: not the state of pruning until recovery at step 10";
  CHECK(error_with([](TrainState& s) { s.recoveries[0].reference.reset(); }) == other);
  CHECK(error_with([](TrainState& s) { s.recoveries[0].before.reset(); }) == other);
  CHECK(error_with([](TrainState& s) { s.recoveries[0].layers[0].step = 11; }) == other);
  CHECK(error_with([](TrainState& s) { s.recoveries[0].before->name = "layers.0.weight"; }) ==
        "state of /sparsity/0: expected the values of 'layers.1.weight' before pruning");
}

TEST_CASE("pruning until recovery needs a validation split") {
  const TempDir dir;
  Recipe r = until_recovered(dir, "magnitude:sparsity=0.5", 1);
  r.data.train = 1;
  r.data.validation = 0;
  const auto t = trainer_of(r);
  while (t->state().step < 6) t->step();
  CHECK(error_of([&] { t->step(); }) == "pruning until recovery: the validation split is empty");
}
