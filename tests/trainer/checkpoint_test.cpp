// SPDX-License-Identifier: Apache-2.0
// A run continues from a saved state bit for bit.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "libsten/training/trainer/checkpoint.h"
#include "libsten/training/trainer/run_directory.h"
#include "tests/trainer/small_runs.h"

using namespace sten;
using namespace sten::testing;

namespace {

TrainCheckpoint through_files(const TempDir& dir, const Trainer& t,
                              const RunManifest& record = {}) {
  const std::string path = dir / "checkpoint";
  std::filesystem::remove_all(path);
  OutputDirectory to(path, false);
  write_checkpoint(to, t.task().graph(), t.state(), record);
  to.commit();
  return read_checkpoint(path, t.task().graph());
}

// After `at` steps, from files, to the end.
void check_goes_on(const TempDir& dir, const Recipe& r, Index at) {
  const auto whole = trainer_of(r), first = trainer_of(r), second = trainer_of(r);
  while (!whole->is_done()) whole->step();
  for (Index i = 0; i < at; ++i) first->step();
  second->restore(through_files(dir, *first).state);
  // With scores, the sparsity is that of the last step's computation.
  if (r.sparsity.empty() || !r.sparsity[0].scores) CHECK(second->sparsity() == first->sparsity());
  while (!second->is_done()) second->step();
  CHECK(bits_of(second->state()) == bits_of(whole->state()));
}

}  // namespace

TEST_CASE("training resumes bit-identically with each optimizer and fixed or refreshed masks") {
  const TempDir dir;
  struct Mode {
    const char *sparsifier, *layout;
    Index refresh, begin;
  };
  for (const Mode& m : {Mode{"magnitude:sparsity=0.9", "masked", 0, 0},
                        {"magnitude:sparsity=0.9", "csr", 0, 0},
                        {"magnitude:sparsity=0.9", "masked", 2, 0},
                        {"nmg:n=1,m=4,g=4", "nmg:n=1,m=4,g=4", 3, 0},
                        {"movement:sparsity=0.5", "masked", 3, 2},
                        {"gradient:sparsity=0.5", "masked", 0, 5},
                        {"random:fraction=0.5", "masked", 2, 0}})
    for (const char* kind : {"adamw", "sgd", "momentum"}) {
      CAPTURE(m.sparsifier);
      CAPTURE(m.layout);
      CAPTURE(m.refresh);
      CAPTURE(kind);
      Recipe r = small_mlp(dir);
      r.steps = 9;
      r.optimizer.kind = std::string_view(kind) == "adamw" ? "adamw" : "sgd";
      r.optimizer.momentum = std::string_view(kind) == "momentum" ? 0.9 : 0;
      r.clip = 1;
      r.rate.kind = "cosine";
      r.rate.warmup = 3;
      r.sparsity = {sparse("layers.*.weight", m.sparsifier)};
      r.sparsity[0].layout = Spec::parse(m.layout);
      r.sparsity[0].mask = {"refresh", m.refresh};
      r.sparsity[0].schedule.begin = m.begin;
      check_goes_on(dir, r, 5);
    }
}

TEST_CASE("a layer-wise pruned BERT resumes bit-identically") {
  const TempDir dir;
  Recipe r = small_bert(dir);
  r.sparsity = {sparse("bert.encoder.*.dense.weight", "magnitude:sparsity=0.5")};
  r.sparsity[0].schedule.kind = "layer-wise";
  check_goes_on(dir, r, 3);
}

TEST_CASE("regrow, straight-through, EMA, dropout and calibration resume bit-identically") {
  const TempDir dir;
  for (const char* mask : {"regrow", "straight-through", "refresh"})
    for (const char* by : {"magnitude:sparsity=0.9", "nmg:n=1,m=4,g=4"})
      for (const double ema : {0.0, 0.7}) {
        if (mask == std::string_view("regrow") && by[0] != 'm') continue;
        CAPTURE(mask);
        CAPTURE(by);
        CAPTURE(ema);
        Recipe r = small_mlp(dir);
        r.steps = 9;
        r.sparsity = {sparse("layers.*.weight", by)};
        r.sparsity[0].mask.kind = mask;
        r.sparsity[0].mask.refresh = mask == std::string_view("straight-through") ? 0 : 2;
        r.sparsity[0].mask.end = 9;
        r.ema = ema;
        check_goes_on(dir, r, 5);
        // The best weights are those that were evaluated, not those that are trained.
        const auto t = trainer_of(r);
        for (int i = 0; i < 4; ++i) t->step();
        RunManifest record;
        record.best_step = 4;
        record.best_weights = t->weights();
        const RunManifest read = through_files(dir, *t, record).manifest;
        for (const auto& [name, w] : t->weights())
          CHECK(Tensor(read.best_weights.at(name).to_dense()).values()->as<float>()[1] ==
                Tensor(w.to_dense()).values()->as<float>()[1]);
      }
  Recipe r = small_bert(dir);
  r.model.dropout = 0.2;
  r.label_smoothing = 0.1;
  check_goes_on(dir, r, 3);
  // Calibrated after it has continued.
  r.sparsity = {sparse("bert.encoder.*.dense.weight", "nmg:n=1,m=4,g=4")};
  r.sparsity[0].schedule.begin = 4;
  r.sparsity[0].calibration = {{.method = "admm", .rows = 16, .scope = "local"}};
  check_goes_on(dir, r, 3);
}

TEST_CASE("learned scores resume bit-identically before, during and after their training") {
  const TempDir dir;
  for (const char* kind : {"adamw", "sgd"})
    for (const char* by :
         {"l0", "movement:sparsity=0.5", "soft-movement:at=0.4", "variational-dropout:at=3"})
      for (const auto& steps : {std::pair<Index, Index>{0, 9}, {0, 7}, {6, 8}, {0, 5}, {0, 3}}) {
        const Index begin = steps.first, end = steps.second;
        CAPTURE(kind);
        CAPTURE(begin);
        CAPTURE(end);
        CAPTURE(by);
        Recipe r = small_mlp(dir);
        r.steps = 9;
        r.optimizer.kind = kind;
        r.optimizer.momentum = 0.9;
        r.accumulate = 2;
        r.sparsity = {sparse("layers.*.weight", by)};
        r.sparsity[0].schedule.begin = begin;
        const bool has_noise = by[0] == 'v';
        r.sparsity[0].scores = {.rate = 0.05,
                                .penalty = by[0] == 'm' ? 0 : 0.01,
                                .warmup = 4,
                                .initial = has_noise ? -6.0 : 1.0,
                                .end = end};
        check_goes_on(dir, r, 5);
      }
}

TEST_CASE("a wide ResNet with batch norm and dropout resumes bit-identically") {
  const TempDir dir;
  for (const char* by : {"", "magnitude:sparsity=0.5", "nm:n=2,m=4", "nmg:n=1,m=4,g=4"}) {
    CAPTURE(by);
    Recipe r = small_wide_resnet(dir);
    if (*by) r.sparsity = {sparse("block*.weight", by)};
    if (*by) r.sparsity[0].mask = {"refresh", 3};
    r.accumulate = 2;
    check_goes_on(dir, r, 5);
  }
}

TEST_CASE("a checkpoint stores the run manifest, and the best weights only if they differ") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.sparsity = {sparse("layers.1.weight", "magnitude:sparsity=0.9")};
  const auto t = trainer_of(r);
  t->step();
  RunManifest record{"a", "b", {1.5, 0.25, 12}, {1.25, 0.5, 13}, 1, 0.75, t->weights()};
  record.teacher = "c";
  const auto best = floats(record.best_weights.at("layers.1.weight").to_dense());
  const auto check = [&](const RunManifest& back) {
    CHECK(back.data == "a");
    CHECK(back.first_weights == "b");
    CHECK(back.teacher == "c");
    CHECK(back.validation_before.loss == 1.5);
    CHECK(back.test_before.count == 13);
    CHECK(back.best_step == 1);
    CHECK(back.best_loss == 0.75);
    CHECK(floats(back.best_weights.at("layers.1.weight").to_dense()) == best);
  };
  check(through_files(dir, *t, record).manifest);
  CHECK(!std::filesystem::exists(dir / "checkpoint/best.safetensors"));
  t->step();
  check(through_files(dir, *t, record).manifest);
  CHECK(std::filesystem::exists(dir / "checkpoint/best.safetensors"));
}

TEST_CASE("a run with LoRA adapters resumes bit-identically and stores its best model merged") {
  const TempDir dir;
  Recipe r = small_gpt(dir);
  r.steps = 6;
  r.lora.emplace();
  r.lora->target = "transformer.h.*.weight";
  r.sparsity = {sparse("transformer.h.*.weight", "nm:n=2,m=4")};
  check_goes_on(dir, r, 3);
  const auto t = trainer_of(r);
  t->step();
  const RunManifest record{"a", "b", {}, {}, 1, 0.75, t->weights()};
  const NamedValues<Tensor> best = through_files(dir, *t, record).manifest.best_weights;
  CHECK(best.size() == record.best_weights.size());
  for (const auto& [name, w] : best)
    CHECK(floats(w.to_dense()) == floats(record.best_weights.at(name).to_dense()));
}

TEST_CASE("a state with missing, unexpected or mismatched entries is rejected") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.sparsity = {sparse("layers.*.weight", "movement:sparsity=0.5")};
  r.sparsity[0].schedule.begin = 2;
  const auto t = trainer_of(r);
  for (int i = 0; i < 5; ++i) t->step();
  const auto restored = [&](const auto& change) {
    TrainState s = t->state();
    change(s);
    try {
      trainer_of(r)->restore(std::move(s));
      return std::string();
    } catch (const Error& e) {
      CHECK(e.fault() == Fault::input);
      return std::string(e.what());
    }
  };
  const std::string name = t->state().scores.begin()->first;
  const auto at = [&](TrainState& s) -> Parameter& {
    return *std::ranges::find(s.parameters, name, &Parameter::name);
  };
  CHECK(restored([](TrainState&) {}).empty());
  CHECK(restored([&](TrainState& s) { s.scores.erase(name); }) ==
        "state of '" + name + "': missing scores");
  CHECK(restored([&](TrainState& s) { s.scores.at(name) = Dense::zeros(DType::F32, {3}); }) ==
        "state of '" + name + "': unexpected scores");
  CHECK(restored([&](TrainState& s) { s.scores.emplace("x", Dense::zeros(DType::F32, {3})); }) ==
        "state has scores of unknown weights");
  CHECK(restored([&](TrainState& s) { at(s).value = at(s).value.to_dense(); }) ==
        "state of '" + name + "': got dense after step 5, expected masked");
  CHECK(restored([&](TrainState& s) { at(s).state.erase("m"); }) ==
        "state of '" + name + "': not the state of optimizer adamw");
  CHECK(restored([&](TrainState& s) {
          at(s).state.find("step")->second = Dense::zeros(DType::I64, {});
        }) == "state of '" + name + "': \"step\" must be an I64 scalar >= 1");
  CHECK(restored([&](TrainState& s) {
          at(s).state.find("v")->second = Dense::zeros(DType::F32, {2});
        }).starts_with("state of '" + name + "': v is F32 [2]"));
  CHECK(restored([](TrainState& s) { s.step = -1; }) ==
        "state of step -1 does not fit a run of 12 steps");
}

TEST_CASE("a state that does not fit learned scores is rejected") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.sparsity = {sparse("layers.1.weight", "l0")};
  r.sparsity[0].scores = {.penalty = 0.01, .initial = 1, .end = 6};
  const auto t = trainer_of(r);
  for (int i = 0; i < 4; ++i) t->step();
  const auto restored = [&](const auto& change) {
    TrainState s = t->state();
    change(s, *std::ranges::find(s.parameters, "layers.1.weight", &Parameter::name));
    return error_of([&] { trainer_of(r)->restore(std::move(s)); });
  };
  CHECK(restored([](TrainState&, Parameter&) {}) == "");
  CHECK(restored([](TrainState& s, Parameter&) { s.scores.clear(); }) ==
        "state of 'layers.1.weight': missing scores");
  CHECK(restored([](TrainState&, Parameter& p) { p.state.erase("score-v"); }) ==
        "state of 'layers.1.weight': not the state of optimizer adamw");
  CHECK(restored([](TrainState& s, Parameter&) { s.step = 7; }) ==
        "state of 'layers.1.weight': not the state of optimizer adamw");
  CHECK(restored([](TrainState&, Parameter& p) {
          p.state.find("score-step")->second = Dense::zeros(DType::I64, {});
        }) == "state of 'layers.1.weight': \"step\" must be an I64 scalar >= 1");
  CHECK(restored([](TrainState&, Parameter& p) {
          p.value = registry().pack(p.value.to_dense(), p.value.stored(), Spec("masked"));
        }) == "state of 'layers.1.weight': scores need a dense weight, got masked");
}

TEST_CASE("a checkpoint preserves NaN and infinite losses") {
  const TempDir dir;
  const auto t = trainer_of(small_mlp(dir));
  const double infinity = std::numeric_limits<double>::infinity();
  const RunManifest back =
      through_files(dir, *t, {"a", "b", {std::nan(""), 0, 3}, {infinity, 0, 3}, {}, 0, {}})
          .manifest;
  CHECK(std::isnan(back.validation_before.loss));
  CHECK(back.test_before.loss == infinity);
}

TEST_CASE("resuming a run removes checkpoints beyond the number to keep") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.keep_checkpoints = 1;
  const auto t = trainer_of(r);
  const auto steps = [&] {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(dir / "run/checkpoints"))
      names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  };
  {
    RunDirectory run(dir / "run", r, RunMode::fresh);
    for (int i = 0; i < 2; ++i) {
      t->step();
      run.add_checkpoint(t->task().graph(), t->state(), {}, 9);
    }
  }
  CHECK(steps() == std::vector<std::string>{"step-000001", "step-000002"});
  const RunDirectory run(dir / "run", r, RunMode::resume);
  CHECK(steps() == std::vector<std::string>{"step-000002"});
  CHECK(run.last_checkpoint(t->task().graph())->state.step == 2);
}
