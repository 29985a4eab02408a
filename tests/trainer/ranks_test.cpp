// SPDX-License-Identifier: Apache-2.0
// Data-parallel training on ranks, compared with one process.
#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "libsten/core/registry/registry.h"
#include "libsten/training/trainer/rank_agreement.h"
#include "libsten/training/trainer/state_exchange.h"
#include "tests/support/thread_ranks.h"
#include "tests/trainer/small_runs.h"

using namespace sten;
using namespace sten::testing;

namespace {

struct Run {
  std::vector<double> losses;
  std::vector<GradientTraffic> traffic;
  NamedValues<Tensor> weights;
  std::vector<std::pair<std::string, std::vector<std::byte>>> bits;
};

Run run_of(Trainer& t) {
  Run r;
  while (!t.is_done()) {
    const TrainStep s = t.step();
    r.losses.push_back(s.loss);
    r.traffic.push_back(s.traffic);
  }
  t.check_ranks();
  r.weights = t.weights();
  r.bits = bits_of(t.state());
  return r;
}

Run alone(const Recipe& recipe) { return run_of(*trainer_of(recipe)); }

// The result of rank 0; the other ranks must have the same bits.
Run together(const Recipe& recipe, int n) {
  std::vector<Run> runs(static_cast<std::size_t>(n));
  in_threads(n, [&](const auto& ranks) {
    const auto task = std::make_shared<const Task>(recipe, TaskUse{.ranks = n});
    Trainer trainer(task, ranks);
    check_agreement(*ranks, trainer);
    runs[static_cast<std::size_t>(ranks->rank())] = run_of(trainer);
  });
  for (const Run& r : runs) {
    CHECK(r.losses == runs[0].losses);
    CHECK(r.bits == runs[0].bits);
  }
  return std::move(runs[0]);
}

// Losses within 1e-5, and equal positions of weights.
void check_same(const Run& a, const Run& b) {
  REQUIRE(a.losses.size() == b.losses.size());
  double apart = 0, moved = 0;
  for (std::size_t i = 0; i < a.losses.size(); ++i)
    apart = std::max(apart, std::abs(a.losses[i] - b.losses[i]));
  for (const auto& [name, w] : a.weights) {
    const auto x = floats(w.to_dense()), y = floats(b.weights.at(name).to_dense());
    for (std::size_t i = 0; i < x.size(); ++i)
      moved = std::max(moved, std::abs(double{x[i]} - y[i]));
  }
  CHECK(apart < 1e-5);
  CHECK(moved < 2e-3);  // 12 AdamW steps of up to 0.01, which amplify rounding errors
}

void check_ranks_compute(const Recipe& recipe) {
  const Run wanted = alone(recipe);
  for (const int n : {2, 4}) {
    CAPTURE(n);
    const Run got = together(recipe, n);
    check_same(got, wanted);
    CHECK(together(recipe, n).bits == got.bits);
  }
}

FormatRecipe weight_gradient(const char* target, const char* by, const char* layout) {
  FormatRecipe f;
  f.of = "weight-gradient";
  f.target = target;
  f.inline_by = Spec(by);
  f.temporary = f.layout = Spec(layout);
  return f;
}

Recipe with_sparsity(Recipe r, SparsityRecipe s) {
  r.sparsity = {std::move(s)};
  return r;
}

}  // namespace

TEST_CASE("data-parallel training on 2 and 4 ranks matches one process") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  SUBCASE("dense, with an uneven last batch of the epoch") {}
  SUBCASE("gradient accumulation") { r.accumulate = 2; }
  SUBCASE("gradient clipping and EMA") {
    r.clip = 0.5;
    r.ema = 0.9;
  }
  SUBCASE("fixed masks") { r.sparsity = {sparse("layers.*.weight", "magnitude:sparsity=0.75")}; }
  SUBCASE("refreshed masks") {
    SparsityRecipe s = sparse("layers.*.weight", "magnitude:sparsity=0.75");
    s.mask.kind = "refresh";
    s.mask.refresh = 3;
    r.sparsity = {s};
  }
  SUBCASE("regrow") {
    SparsityRecipe s = sparse("layers.*.weight", "magnitude:sparsity=0.75");
    s.mask.kind = "regrow";
    s.mask.refresh = 3;
    r.sparsity = {s};
  }
  SUBCASE("straight-through") {
    SparsityRecipe s = sparse("layers.*.weight", "nm:n=2,m=4");
    s.mask.kind = "straight-through";
    r.sparsity = {s};
  }
  SUBCASE("n:m:g layout") {
    SparsityRecipe s = sparse("layers.[01].weight", "nmg:n=1,m=4,g=4");
    s.layout = Spec::parse("nmg:n=1,m=4,g=4");
    r.sparsity = {s};
  }
  SUBCASE("csr layout") {
    SparsityRecipe s = sparse("layers.*.weight", "magnitude:sparsity=0.75");
    s.layout = Spec("csr");
    r.sparsity = {s};
  }
  SUBCASE("accumulated movement scores") {
    SparsityRecipe s = sparse("layers.*.weight", "movement:sparsity=0.5");
    s.schedule.kind = "linear";
    s.schedule.stages = 3;
    s.schedule.begin = 2;
    s.schedule.end = 10;
    r.sparsity = {s};
  }
  SUBCASE("l0 gates") {
    SparsityRecipe s = sparse("layers.*.weight", "l0");
    s.scores = ScoresRecipe{.penalty = 1e-3, .initial = 1, .end = 9};
    r.sparsity = {s};
  }
  SUBCASE("LoRA adapters of masked weights") {
    r.sparsity = {sparse("layers.*.weight", "nm:n=2,m=4")};
    r.lora = LoraRecipe{.target = "layers.[01].weight", .rank = 2};
  }
  SUBCASE("calibration") {
    SparsityRecipe s = sparse("layers.*.weight", "magnitude:sparsity=0.5");
    s.schedule.begin = 3;
    s.calibration = CalibrationRecipe{.method = "wanda", .rows = 32, .scope = "row"};
    r.sparsity = {s};
  }
  SUBCASE("csr gradients with zeros at different positions on each rank") {
    r.formats = {weight_gradient("layers.*.weight", "keep-all", "csr")};
  }
  SUBCASE("coo gradients of dense, then of masked weights") {
    SparsityRecipe s = sparse("layers.*.weight", "magnitude:sparsity=0.75");
    s.schedule.begin = 4;
    r.sparsity = {s};
    r.formats = {weight_gradient("layers.*.weight", "same-pattern", "coo")};
  }
  check_ranks_compute(r);
}

TEST_CASE("the loss is the mean over the predictions of all ranks, even if a rank has none") {
  const TempDir dir;
  Recipe r = small_bert(dir);
  r.data.predicted = 0.03;  // some ranks predict no token in some steps
  r.sparsity = {sparse("*.layer.*.weight", "magnitude:sparsity=0.5")};
  r.sparsity.front().layout = Spec("csr");
  check_ranks_compute(r);
  r.formats = {weight_gradient("*.dense.weight", "same-pattern", "coo")};
  check_ranks_compute(r);
}

TEST_CASE("batch norm and dropout match one process if accumulate is a multiple of the ranks") {
  const TempDir dir;
  Recipe r = small_wide_resnet(dir);
  r.accumulate = 4;
  check_ranks_compute(r);
  r.accumulate = 2;
  const auto error = [&](int ranks) { return error_of([&] { Task(r, {.ranks = ranks}); }); };
  CHECK(error(2).empty());
  CHECK(error(4) ==
        "/accumulate: model.dropout draws for one part of a batch at a time: 4 ranks need a "
        "multiple of 4, got 2");
  r.model.dropout = 0;
  CHECK(error(4).find("batch norms normalise over one part") != std::string::npos);
}

TEST_CASE(
    "batch norms of an ONNX export match one process if accumulate is a multiple of the ranks") {
  const TempDir dir;
  Recipe r = small_wide_resnet(dir);
  r.model = {};
  r.model.kind = "onnx";
  r.model.file = STEN_SOURCE_DIR "/tests/trainer/resnet.onnx";
  r.data.features = STEN_SOURCE_DIR "/tests/trainer/images.npy";
  r.data.labels = STEN_SOURCE_DIR "/tests/trainer/labels.npy";
  r.data.std = {1, 1, 1};  // rows are images, and become channels first
  r.steps = 4;
  r.accumulate = 4;
  check_ranks_compute(r);
  r.accumulate = 2;
  CHECK(has(error_of([&] { Task(r, {.ranks = 4}); }), "batch norms normalise over one part"));
}

TEST_CASE("materializing formats match one process if accumulate is a multiple of the ranks") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  FormatRecipe f;
  f.of = "intermediate";
  f.target = "layers.0";
  f.end = r.steps;
  const auto error_by = [&](const char* by) {
    f.external = Spec::parse(by);
    r.formats = {f};
    return error_of([&] { Task(r, {.ranks = 2}); });
  };
  for (const char* by : {"threshold:at=0.1", "nm:n=2,m=4"}) CHECK(error_by(by).empty());
  for (const char* by : {"magnitude:sparsity=0.5", "random:fraction=0.5"})
    CHECK(error_by(by) ==
          "/accumulate: a sparsifier of formats chooses from one part of a batch at a time: 2 "
          "ranks need a multiple of 2, got 1");
  r.accumulate = 4;
  check_ranks_compute(r);
}

TEST_CASE("a batch that is not divisible by the number of ranks is rejected") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  CHECK(error_of([&] { Task(r, {.ranks = 3}); }) ==
        "/batch: 16 is not divisible by the 3 parts of 3 ranks");
  CHECK(fault_of([&] { Task(r, {.ranks = 3}); }) == Fault::usage);
}

TEST_CASE("ranks send only kept gradients of masked weights, and all gradients at a mask refresh") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  // 16 x 32, 32 x 32, 32 x 4, and biases of 32, 32 and 4.
  const std::uint64_t weights = 4 * (512 + 1024 + 128), rest = 4 * 68;
  const auto last = [&](const SparsityRecipe& s) {
    return together(with_sparsity(r, s), 2).traffic.back();
  };
  const GradientTraffic dense = together(r, 2).traffic.back();
  CHECK(dense.sent == weights + rest);
  CHECK(dense.dense == weights + rest);
  CHECK(dense.sparse_sent == 0);

  SparsityRecipe s = sparse("layers.*.weight", "nm:n=1,m=4");
  for (const char* layout : {"masked", "nm:n=1,m=4", "csr"}) {
    s.layout = Spec::parse(layout);
    const GradientTraffic t = last(s);
    CHECK(t.sparse_sent == weights / 4);
    CHECK(t.sparse_dense == weights);
    CHECK(t.sent == weights / 4 + rest);
    CHECK(t.dense == weights + rest);
  }

  s.layout = Spec("masked");
  s.mask.kind = "refresh";
  s.mask.refresh = 4;
  const Run refreshed = together(with_sparsity(r, s), 2);
  for (std::size_t step = 0; step < 12; ++step)
    CHECK(refreshed.traffic[step].sparse_sent == (step == 4 || step == 8 ? weights : weights / 4));
}

TEST_CASE("ranks resume bit-identically from a state that rank 0 broadcasts") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  SparsityRecipe s = sparse("layers.*.weight", "magnitude:sparsity=0.75");
  SUBCASE("masked") {}
  SUBCASE("csr") { s.layout = Spec("csr"); }
  SUBCASE("movement scores") {
    s = sparse("layers.*.weight", "movement:sparsity=0.5");
    s.schedule.begin = 2;
  }
  r.sparsity = {s};
  const Run wanted = together(r, 2);
  TrainState half;
  in_threads(2, [&](const auto& ranks) {
    const auto task = std::make_shared<const Task>(r, TaskUse{.ranks = 2});
    Trainer trainer(task, ranks);
    for (int i = 0; i < 5; ++i) trainer.step();
    if (ranks->rank() == 0) half = trainer.state();
  });
  in_threads(2, [&](const auto& ranks) {
    const auto task = std::make_shared<const Task>(r, TaskUse{.ranks = 2});
    Trainer trainer(task, ranks);
    TrainState state;
    if (ranks->rank() == 0) state = half;
    broadcast_state(*ranks, state);
    trainer.restore(std::move(state));
    CHECK(run_of(trainer).bits == wanted.bits);
  });
}

TEST_CASE("ranks with different recipes are rejected") {
  const TempDir dir, other_dir;
  const Recipe first = small_mlp(dir);
  const auto error_with = [&](const Recipe& second) {
    std::string error;
    in_threads(2, [&](const auto& ranks) {
      const bool is_second = ranks->rank() == 1;
      const Trainer trainer(
          std::make_shared<const Task>(is_second ? second : first, TaskUse{.ranks = 2}), ranks);
      const auto check = [&] { check_agreement(*ranks, trainer); };
      CHECK(fault_of(check) == Fault::usage);
      const std::string text = error_of(check);
      if (is_second) error = text;
    });
    return error;
  };
  Recipe second = first;
  second.optimizer.rate = 0.02;
  CHECK(error_with(second) ==
        "ranks differ in the recipe: /optimizer/rate is 0.01 on rank 0, 0.02 on rank 1");
}

TEST_CASE("check_ranks rejects weights that differ between ranks") {
  const TempDir dir;
  const Recipe r = small_mlp(dir);
  in_threads(2, [&](const auto& ranks) {
    Trainer trainer(std::make_shared<const Task>(r, TaskUse{.ranks = 2}), ranks);
    trainer.step();
    trainer.check_ranks();
    if (ranks->rank() == 1) {
      TrainState other = trainer.state();
      other.parameters.front().value = Tensor::update(std::move(other.parameters.front().value),
                                                      [](Values& v) { v.mutate<float>()[0] += 1; });
      trainer.restore(std::move(other));
    }
    CHECK(error_of([&] {
            trainer.check_ranks();
          }).starts_with("step 1: weights of rank 1 differ from rank 0"));
  });
}
