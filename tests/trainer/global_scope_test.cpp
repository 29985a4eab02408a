// SPDX-License-Identifier: Apache-2.0
// "scope": "global": one threshold over all weights of an entry.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "libsten/training/trainer/checkpoint.h"
#include "tests/support/thread_ranks.h"
#include "tests/trainer/small_runs.h"

using namespace sten;
using namespace sten::testing;

namespace {

Recipe global_run(const TempDir& dir, const std::string& sparsifier, const std::string& target) {
  Recipe r = small_mlp(dir);
  r.steps = 15;
  r.sparsity = {sparse(target, sparsifier)};
  r.sparsity[0].scope = "global";
  r.sparsity[0].schedule.begin = 4;
  return r;
}

const std::vector<std::string> all_layers = {"layers.0.weight", "layers.1.weight",
                                             "layers.2.weight"};

// The kept positions, by one sort of all magnitudes; of equals, the later is pruned first.
std::vector<bool> by_sorting(const std::vector<float>& x, double sparsity) {
  std::vector<std::size_t> order(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return std::abs(x[a]) == std::abs(x[b]) ? a > b : std::abs(x[a]) < std::abs(x[b]);
  });
  std::vector<bool> kept(x.size(), true);
  const auto drop = std::llround(sparsity * static_cast<double>(x.size()));
  for (Index i = 0; i < drop; ++i) kept[order[static_cast<std::size_t>(i)]] = false;
  return kept;
}

std::vector<float> values_of(const Trainer& t) {
  std::vector<float> all;
  for (const std::string& name : all_layers)
    std::ranges::copy(floats(parameter(t, name).value.to_dense()), std::back_inserter(all));
  return all;
}
std::vector<bool> kept_in(const NamedValues<Tensor>& weights) {
  std::vector<bool> all;
  for (const std::string& name : all_layers) {
    const Mask m = weights.at(name).stored();
    for (Index i = 0; i < m.size(); ++i) all.push_back(m[i]);
  }
  return all;
}

std::vector<std::pair<std::string, std::vector<std::byte>>> bits_after(const Recipe& r) {
  const auto t = trainer_of(r);
  while (!t->is_done()) t->step();
  return bits_of(t->state());
}

}  // namespace

TEST_CASE("a global threshold prunes the same positions as one sort of all magnitudes") {
  const TempDir dir;
  Recipe r = global_run(dir, "magnitude:sparsity=0.7", "layers.*.weight");
  const auto t = trainer_of(r);
  while (t->state().step < 4) t->step();
  const std::vector<bool> wanted = by_sorting(values_of(*t), 0.7);
  t->step();
  CHECK(kept_in(t->weights()) == wanted);
  CHECK(std::ranges::count(wanted, true) == 1664 - std::llround(0.7 * 1664));
  CHECK(t->sparsity() == doctest::Approx(0.7).epsilon(0.001));
  // The weights have different shares.
  CHECK(mask_in(*t, "layers.0.weight").count() != 512 - std::llround(0.7 * 512));
}

TEST_CASE("straight-through recomputes the global threshold in every step, also for EMA weights") {
  const TempDir dir;
  Recipe r = global_run(dir, "magnitude:sparsity=0.7", "layers.*.weight");
  r.sparsity[0].mask.kind = "straight-through";
  const auto t = trainer_of(r);
  while (!t->is_done()) {
    t->step();
    if (t->state().step <= 4) continue;
    CHECK(kept_in(t->weights()) == by_sorting(values_of(*t), 0.7));
  }
  r.ema = 0.9;
  const auto averaged = trainer_of(r);
  while (!averaged->is_done()) averaged->step();
  std::vector<float> averages;
  for (const std::string& name : all_layers)
    std::ranges::copy(floats(parameter(*averaged, name).state.at("ema").to_dense()),
                      std::back_inserter(averages));
  CHECK(kept_in(averaged->weights()) == by_sorting(averages, 0.7));
}

TEST_CASE("a mask refresh with global scope selects among the updated values of all weights") {
  const TempDir dir;
  Recipe r = global_run(dir, "magnitude:sparsity=0.3", "layers.*.weight");
  r.optimizer = {.kind = "sgd", .rate = 1};
  r.sparsity[0].mask = {"refresh", 5};
  // Without a mask, the step gives the values among which the refresh selects.
  const auto t = trainer_of(r);
  while (t->state().step < 9) t->step();
  Recipe without = r;
  without.sparsity.clear();
  const auto plain = trainer_of(without);
  TrainState state = t->state();
  for (Parameter& p : state.parameters) p.value = p.value.to_dense();
  plain->restore(std::move(state));
  const std::vector<bool> before = kept_in(t->weights());
  plain->step();
  t->step();
  const std::vector<bool> wanted = by_sorting(values_of(*plain), 0.3);
  CHECK(kept_in(t->weights()) == wanted);
  CHECK(before != wanted);
}

TEST_CASE("global scope over one weight is bit-identical to local scope") {
  const TempDir dir;
  Recipe r = global_run(dir, "magnitude:sparsity=0.7", "layers.1.weight");
  SparsityRecipe& s = r.sparsity[0];
  SUBCASE("one-shot") {}
  SUBCASE("linear schedule") {
    s.schedule.kind = "linear";
    s.schedule.stages = 4;
  }
  SUBCASE("refreshed mask") { s.mask = {"refresh", 3}; }
  SUBCASE("refreshed mask in csr") {
    s.mask = {"refresh", 3};
    s.layout = Spec("csr");
  }
  SUBCASE("regrow") { s.mask = {"regrow", 3}; }
  SUBCASE("straight-through") { s.mask.kind = "straight-through"; }
  SUBCASE("block magnitude") {
    s.sparsifier = Spec::parse("block-magnitude:sparsity=0.5,h=4,w=4");
    s.layout = Spec::parse("bcsr:h=4,w=4");
    s.mask = {"refresh", 3};
  }
  SUBCASE("movement") {
    s.sparsifier = Spec::parse("movement:sparsity=0.7");
    s.mask = {"refresh", 3};
  }
  SUBCASE("gradient") { s.sparsifier = Spec::parse("gradient:sparsity=0.7"); }
  const auto global = bits_after(r);
  s.scope = "local";
  CHECK(bits_after(r) == global);
}

TEST_CASE("global scope resumes bit-identically, and two ranks keep the same positions") {
  const TempDir dir;
  Recipe r = global_run(dir, "magnitude:sparsity=0.7", "layers.*.weight");
  r.optimizer = {.kind = "sgd", .rate = 0.05, .momentum = 0.9};
  SUBCASE("refreshed mask") { r.sparsity[0].mask = {"refresh", 3}; }
  SUBCASE("straight-through") { r.sparsity[0].mask.kind = "straight-through"; }
  const auto whole = bits_after(r);
  for (const Index at : {3, 4, 8}) {
    const auto first = trainer_of(r), second = trainer_of(r);
    while (first->state().step < at) first->step();
    const std::string path = dir / fmt::format("checkpoint-{}", at);
    OutputDirectory to(path, false);
    write_checkpoint(to, first->task().graph(), first->state(), {});
    to.commit();
    second->restore(read_checkpoint(path, first->task().graph()).state);
    CHECK(second->sparsity() == first->sparsity());
    while (!second->is_done()) second->step();
    CHECK(bits_of(second->state()) == whole);
  }
  const auto alone = trainer_of(r);
  while (!alone->is_done()) alone->step();
  in_threads(2, [&](const auto& ranks) {
    Trainer t(std::make_shared<const Task>(r, TaskUse{.ranks = 2}), ranks);
    while (!t.is_done()) t.step();
    t.check_ranks();
    CHECK(kept_in(t.weights()) == kept_in(alone->weights()));
  });
}
