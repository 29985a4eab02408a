// SPDX-License-Identifier: Apache-2.0
// Training on a device: losses equal the CPU's, and runs can be resumed on either.
#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <set>

#include "libsten/core/dispatch/operators.h"
#include "libsten/model/nn/weights.h"
#include "libsten/programs/train/train.h"
#include "libsten/training/trainer/device_sums.h"
#include "libsten/training/trainer/run_directory.h"
#include "tests/device/row_checks.h"
#include "tests/device/serial_backend.h"
#include "tests/device/training_runs.h"
#include "tests/support/laws.h"
#include "tests/support/thread_ranks.h"
#include "tests/support/variables.h"

using namespace sten;
using namespace sten::testing;

namespace {

Recipe mlp_run(const TempDir& dir) {
  Recipe r = small_mlp(dir);
  r.steps = 20;
  r.clip = 1;
  r.ema = 0.9;
  r.seed = 8;
  return r;
}
std::vector<Recipe> masked_mlp_runs(const TempDir& dir) {
  const Recipe r = mlp_run(dir);
  // SGD, because AdamW moves all pruned weights from 0 by the same amount, and only rounding would
  // rank them.
  std::vector<Recipe> all = {
      with_sgd(with(r, mlp_layers, "magnitude:sparsity=0.8", "masked", 5, 4)),
      with(r, mlp_layers, "nm:n=2,m=4", "masked", 5, 4)};
  Recipe straight = with(r, mlp_layers, "magnitude:sparsity=0.8", "masked", 5);
  straight.sparsity[0].mask.kind = "straight-through";
  all.push_back(straight);
  // The first layer recovers, and the second one does not.
  Recipe recovered = with(r, mlp_layers, "magnitude:sparsity=0.97", "masked", 5);
  recovered.sparsity[0].schedule.kind = "layer-wise";
  recovered.sparsity[0].schedule.until = "recovered";
  recovered.sparsity[0].schedule.recovery = {0.1, 2, 2};
  all.push_back(recovered);
  // Gradient accumulation over parts of a batch.
  all.push_back(with(r, mlp_layers, "magnitude:sparsity=0.8", "masked", 5));
  all.back().accumulate = 4;
  return all;
}
std::vector<Recipe> nmg_mlp_runs(const TempDir& dir) {
  const Recipe r = mlp_run(dir);
  return {with(r, mlp_layers, "nmg:n=1,m=4,g=4", "nmg:n=1,m=4,g=4", 5, 6),
          with_sgd(with(r, mlp_layers, "nmg:n=1,m=4,g=4", "nmg:n=1,m=4,g=4", 0))};
}

Recipe bert_run(const TempDir& dir) {
  Recipe r = small_bert(dir);
  r.steps = 10;
  r.clip = 1;
  r.seed = 1;
  return r;
}

std::vector<Recipe> runs_with_parts_on_the_cpu(const TempDir& dir) {
  Recipe r = small_mlp(dir);
  r.steps = 20;
  r.seed = 5;
  Recipe learned = with(r, mlp_layers, "l0", "masked", 2);
  learned.sparsity[0].scores.emplace();
  learned.sparsity[0].scores->end = 15;
  Recipe regrown = with(r, mlp_layers, "magnitude:sparsity=0.8", "masked", 5, 4);
  regrown.sparsity[0].mask.kind = "regrow";
  Recipe calibrated = with(r, mlp_layers, "magnitude:sparsity=0.5", "masked", 5);
  calibrated.sparsity[0].calibration.emplace().method = "sparsegpt";
  Recipe global = with(r, mlp_layers, "magnitude:sparsity=0.8", "masked", 5);
  global.sparsity[0].scope = "global";
  Recipe global_through = global;
  global_through.sparsity[0].mask.kind = "straight-through";
  Recipe taught = r;
  taught.distillation.emplace();
  taught.distillation->teacher = dir / "teacher.safetensors";
  const auto teacher = trainer_of(r);
  save_weights(teacher->task().graph(), teacher->weights(), taught.distillation->teacher, true);
  return {learned,
          global,
          global_through,
          with(r, mlp_layers, "gradient:sparsity=0.5", "masked", 5),
          with(r, mlp_layers, "movement:sparsity=0.5", "masked", 5),
          regrown,
          calibrated,
          taught};
}

// Runs until a number of steps, and then to the end.
void run(const std::string& recipe, const std::string& out, const std::string& device,
         Index until = 1 << 20) {
  TrainOptions o;
  o.recipe = recipe;
  o.out = out;
  o.resume = true;
  o.device = DeviceSpec::parse(device);
  Index steps = 0;
  o.stop = [&] { return steps++ == until; };
  train(o);
}

std::set<std::string> names_in(const std::string& path) {
  std::set<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(path))
    all.insert(entry.path().filename());
  return all;
}

std::vector<MetricsLine> metrics_of(const Recipe& r, const std::string& out) {
  return RunDirectory(out, r, RunMode::resume).metrics();
}

}  // namespace

TEST_CASE("training a perceptron on a device has the CPU's losses" * long_only()) {
  const SerialDevice device;
  const TempDir dir;
  const Recipe r = mlp_run(dir);
  check_losses(r);
  check_losses(with_sgd(r));
}

TEST_CASE("training a masked perceptron on a device has the CPU's losses") {
  const SerialDevice device;
  const TempDir dir;
  for (const Recipe& r : masked_mlp_runs(dir)) check_losses(r);
}

TEST_CASE("training an n:m:g perceptron on a device has the CPU's losses") {
  const SerialDevice device;
  const TempDir dir;
  for (const Recipe& r : nmg_mlp_runs(dir)) check_losses(r);
}

TEST_CASE("training a BERT on a device has the CPU's losses" * long_only()) {
  const SerialDevice device;
  const TempDir dir;
  check_losses(bert_run(dir));
}

TEST_CASE("training a masked BERT on a device has the CPU's losses") {
  const SerialDevice device;
  const TempDir dir;
  const Index refresh = is_short() ? 0 : 5;  // the perceptrons cover refreshes
  check_losses(with(bert_run(dir), bert_layers, "magnitude:sparsity=0.8", "masked", 4, refresh));
}

TEST_CASE("training a masked Llama on a device has the CPU's losses") {
  const SerialDevice device;
  const TempDir dir;
  Recipe r = small_llama(dir);
  r.steps = 10;
  r.activation_checkpointing = true;
  check_losses(with(r, "model.layers.*_proj.weight", "nm:n=2,m=4", "masked", 4));
}

TEST_CASE("training an n:m:g BERT on a device has the CPU's losses") {
  const SerialDevice device;
  const TempDir dir;
  check_losses(with(bert_run(dir), bert_layers, "nmg:n=1,m=4,g=4", "nmg:n=1,m=4,g=4", 4));
}

TEST_CASE("training methods that a device does not fully support have the CPU's losses") {
  const SerialDevice device;
  const TempDir dir;
  for (const Recipe& r : runs_with_parts_on_the_cpu(dir)) check_losses(r, false);
}

TEST_CASE("deferred losses equal losses that are read back in every step") {
  const SerialDevice device;
  const Warnings warnings;
  const TempDir dir;
  Recipe r = with(small_mlp(dir), mlp_layers, "magnitude:sparsity=0.8", "masked", 3, 2);
  r.clip = 1;
  r.accumulate = is_short() ? 1 : 2;
  const Index every = is_short() ? 2 : 5, asked = every + 2;  // a step whose loss is deferred
  if (is_short()) r.steps = 6;
  const auto now = trainer_on(Device::cuda, r), late = trainer_on(Device::cuda, r, every);
  const std::vector<TrainStep> wanted = steps_of(*now);
  for (Index i = 0; i < r.steps; ++i) {
    TrainStep s = late->step();
    const bool is_read = i % every == every - 1 || i + 1 == r.steps;
    CHECK(s.is_read == is_read);
    // The last step that was read.
    const Index of = is_read ? i : i / every * every - 1;
    CHECK(s.loss == (of < 0 ? 0 : wanted[static_cast<std::size_t>(of)].loss));
    if (i == asked) {
      late->read(s);
      CHECK(s.is_read);
      CHECK(s.loss == wanted[static_cast<std::size_t>(i)].loss);
      CHECK(s.norm == wanted[static_cast<std::size_t>(i)].norm);
      break;
    }
  }
  TrainStep last;
  while (!late->is_done()) last = late->step();
  CHECK(last.loss == wanted.back().loss);
  CHECK(last.norm == wanted.back().norm);
}

TEST_CASE("training steps without a read of the loss copy nothing back" * stand_in_only()) {
  const SerialDevice device;
  const Warnings warnings;
  const TempDir dir;
  for (const Recipe& base : {small_mlp(dir), small_bert(dir)})
    for (const char* layout : {"dense", "masked", "nmg:n=1,m=4,g=4"}) {
      Recipe r = base;
      CAPTURE(r.name);
      CAPTURE(layout);
      r.steps = 8;
      r.clip = 1;
      r.ema = 0.9;
      if (layout != std::string("dense"))
        r = with(r, r.model.kind == "mlp" ? mlp_layers : bert_layers, "nmg:n=1,m=4,g=4", layout, 1);
      const auto t = trainer_on(Device::cuda, r, 8);
      for (int i = 0; i < 3; ++i) t->step();
      const std::size_t before = SerialDevice::downloads(), sent = SerialDevice::uploads();
      std::vector<std::string> plans;
      Operators::log_plans(&plans);
      t->step();
      Operators::log_plans(nullptr);
      // Operators that fall back to the CPU copy their operands.
      const bool all_on_device = std::ranges::none_of(
          plans, [](const std::string& plan) { return has(plan, "on the CPU"); });
      CHECK(!plans.empty());
      if (all_on_device) CHECK(SerialDevice::downloads() == before);
      if (all_on_device) CHECK(SerialDevice::uploads() == sent + 1);  // the batch
    }
}

TEST_CASE("repeated training steps allocate no new device memory" * stand_in_only()) {
  const SerialDevice device;
  const Warnings warnings;
  const TempDir dir;
  for (const Recipe& base : {small_mlp(dir), small_gpt(dir)})
    for (const char* layout : {"dense", "masked"}) {
      CAPTURE(base.name);
      CAPTURE(layout);
      const PooledDeviceMemory keeps;
      Recipe r = base;
      r.steps = 12;
      r.clip = 1;
      if (layout != std::string("dense"))
        r = with(r, r.model.kind == "mlp" ? mlp_layers : "transformer.h.*.c_*.weight",
                 "magnitude:sparsity=0.5", layout, 1);
      const auto t = trainer_on(Device::cuda, r, 4);
      for (int i = 0; i < 8; ++i) t->step();
      const std::size_t before = SerialDevice::live().blocks;
      for (int i = 0; i < 4; ++i) t->step();
      CHECK(SerialDevice::live().blocks == before);
    }
}

TEST_CASE("a batch part is copied to a device unchanged, small inputs in one copy" *
          stand_in_only()) {
  const SerialDevice device;
  Dice dice(3);
  const auto ids = [&](const Shape& shape) { return random_numbers(dice, shape, 0, 100); };
  BatchPart part;
  part.predictions = 5;
  part.inputs = {{"a", ids({3, 7})},
                 {"b", normals(dice, {300, 200})},
                 {"c", Dense::zeros(DType::I64, {0, 4})},
                 {"d", registry().pack(normals(dice, {4, 6}), Mask::none({4, 6}), Spec("masked"))},
                 {"e", any_bits(dice, DType::U8, {13})},
                 {"f", ids({1})}};
  const std::size_t before = SerialDevice::uploads();
  const BatchPart device_part = on_device(part, Device::cuda);
  CHECK(SerialDevice::uploads() - before == 4);  // b, the two parts of d, and the remaining ones
  CHECK(device_part.predictions == 5);
  for (const auto& input : part.inputs) {
    CAPTURE(input.first);
    const Tensor& x = device_part.inputs.at(input.first);
    CHECK(x.device() == Device::cuda);
    CHECK(same_parts(x.to(Device::cpu).save(), input.second.save()));
    CHECK(on_device(part, Device::cpu).inputs.at(input.first).device() == Device::cpu);
  }
}

TEST_CASE("a non-finite loss is the same error on the CPU and on a device, deferred or not") {
  const SerialDevice device;
  const Warnings warnings;
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.steps = is_short() ? 4 : 30;
  r.optimizer.kind = "sgd";
  r.optimizer.rate = 1e30;
  const auto why = [&](Device on, Index read_every) {
    const auto t = trainer_on(on, r, read_every);
    return error_of([&] {
      while (!t->is_done()) t->step();
    });
  };
  const std::string here = why(Device::cpu, 1);
  CHECK(has(here, "the loss is"));
  CHECK(why(Device::cuda, 1) == here);
  CHECK(why(Device::cuda, is_short() ? 3 : 7) == here);
  // An explicit read before any checkpoint and before the end of the run fails, too.
  const auto t = trainer_on(Device::cuda, r, r.steps);
  for (int i = 0; i < 3; ++i) t->step();
  TrainStep last;
  for (int again = 0; again < 2; ++again) CHECK(error_of([&] { t->read(last); }) == here);
}

TEST_CASE("ranks that train on devices have the losses of a single process") {
  const SerialDevice device;
  const Warnings warnings;
  const TempDir dir;
  Recipe mlp = small_mlp(dir);
  if (is_short()) mlp.steps = 5;
  for (const Recipe& r : {with(mlp, mlp_layers, "magnitude:sparsity=0.8", "masked", 2, 4),
                          with(mlp, mlp_layers, "nmg:n=1,m=4,g=4", "nmg:n=1,m=4,g=4", 2)}) {
    CAPTURE(r.name);
    const std::vector<TrainStep> wanted = steps_of(*trainer_on(Device::cpu, r));
    std::vector<std::vector<TrainStep>> of(2);
    in_threads(2, [&](const auto& ranks) {
      Trainer t(std::make_shared<const Task>(r, TaskUse{.ranks = 2}), ranks, {Device::cuda, 8});
      of[static_cast<std::size_t>(ranks->rank())] = steps_of(t);
      t.check_ranks();
    });
    for (const auto& steps : of)
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        CHECK(steps[i].is_read);
        CHECK(std::abs(steps[i].loss - wanted[i].loss) <= nearness);
        CHECK(steps[i].loss == of[0][i].loss);
      }
    // Only kept values are sent.
    CHECK(of[0].back().traffic.sparse_sent < of[0].back().traffic.sparse_dense / 2);
  }
}

TEST_CASE("gradients are exchanged from device memory if the ranks' transport accepts it") {
  const SerialDevice device;
  const Variables wish{{"STEN_MPI_CUDA", "1"}};
  const Warnings warnings;
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.model.sizes = {16, 512, 512, 4};  // the middle layer's gradient fills a bucket
  r.steps = is_short() ? 2 : 3;
  const auto losses = [&](const Recipe& r, bool take_device_memory, int sums_on_device) {
    std::vector<double> all;
    in_threads(
        2,
        [&](const auto& ranks) {
          Trainer t(std::make_shared<const Task>(r, TaskUse{.ranks = 2}), ranks, {Device::cuda, 8});
          const std::vector<TrainStep> steps = steps_of(t);
          t.check_ranks();
          CHECK(static_cast<const ThreadRank&>(*ranks).sums_on_device() == sums_on_device);
          const bool is_last = sums_on_device == r.steps;  // otherwise only for the first step
          CHECK(steps.back().traffic.from_device == (is_last ? 4 * 512 * 512 : 0));
          if (ranks->rank() == 0)
            for (const TrainStep& s : steps) all.push_back(s.loss);
        },
        {.takes_device_memory = take_device_memory});
    return all;
  };
  const std::vector<double> by_host = losses(r, false, 0);
  CHECK(losses(r, true, static_cast<int>(r.steps)) == by_host);
  // With masks, the host gathers and rounds the kept values.
  const Recipe masked = with(r, mlp_layers, "magnitude:sparsity=0.8", "masked", 1, 0);
  CHECK(losses(masked, true, 1) == losses(masked, false, 0));
  if (is_short()) return;
  r.exchange.transport = "bfloat16";
  CHECK(losses(r, true, 0) == losses(r, false, 0));
}

TEST_CASE("gradients are exchanged from the faster memory unless STEN_MPI_CUDA decides") {
  const SerialDevice device;
  using std::chrono::milliseconds;
  const auto from_device = [](const ThreadTransport& transport) {
    std::array<bool, 2> of{};
    in_threads(
        2,
        [&](const auto& ranks) {
          of[static_cast<std::size_t>(ranks->rank())] = sums_from_device(*ranks);
        },
        transport);
    CHECK(of[0] == of[1]);
    return of[0];
  };
  const ThreadTransport slow_host{true, milliseconds(300), {}},
      slow_on_device{true, {}, milliseconds(300)};
  CHECK(from_device(slow_host));
  CHECK_FALSE(from_device(slow_on_device));
  {
    const Variables wish{{"STEN_MPI_CUDA", "0"}};
    CHECK_FALSE(from_device(slow_host));
  }
  const Variables wish{{"STEN_MPI_CUDA", "1"}};
  CHECK(from_device(slow_on_device));
  CHECK_FALSE(from_device({.takes_device_memory = false}));
}

TEST_CASE("a run can be resumed on another device") {
  const SerialDevice device;
  const Warnings warnings;
  const TempDir dir;
  Recipe r = with(small_mlp(dir), mlp_layers, "nmg:n=1,m=4,g=4", "nmg:n=1,m=4,g=4", 2, 4);
  r.steps = is_short() ? 6 : 24;
  const Index until = is_short() ? 3 : 7;
  r.clip = 1;
  r.log_every = 1;
  r.checkpoint_every = is_short() ? 2 : 5;
  r.evaluation.keep_best = true;
  r.evaluation.every = is_short() ? 3 : 6;
  const std::string recipe = dir.write("recipe.json", to_json(r));
  const auto of = [&](const std::string& name) {
    return metrics_of(read_recipe(recipe, {}), dir / name);
  };
  run(recipe, dir / "here", "cpu");
  run(recipe, dir / "there", "cuda");
  run(recipe, dir / "there-here", "cuda", until);
  run(recipe, dir / "there-here", "cpu");
  run(recipe, dir / "here-there", "cpu", until);
  run(recipe, dir / "here-there", "cuda");
  const std::vector<MetricsLine> wanted = of("here");
  for (const char* name : {"there", "there-here", "here-there"}) {
    CAPTURE(name);
    const std::vector<MetricsLine> got = of(name);
    REQUIRE(got.size() == wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      CHECK(got[i].step == wanted[i].step);
      CHECK(got[i].split == wanted[i].split);
      CHECK(std::abs(got[i].loss - wanted[i].loss) <= nearness);
      CHECK(got[i].sparsity == wanted[i].sparsity);
    }
    CHECK(names_in(dir / name) == names_in(dir / "here"));
  }
  CHECK(std::ranges::any_of(warnings.all, [](const std::string& w) {
    return has(w, "the run started with") && has(w, ", cuda");
  }));
}
