// Training on a device: the losses of the CPU, and files that go on on either.
#include <doctest/doctest.h>

#include <filesystem>
#include <set>

#include "kernels/isa.h"
#include "libsten/dispatch/operators.h"
#include "libsten/nn/weights.h"
#include "libsten/run/train.h"
#include "libsten/train/run_directory.h"
#include "tests/device/serial_backend.h"
#include "tests/support/thread_ranks.h"
#include "tests/support/warnings.h"
#include "tests/train/small_runs.h"

using namespace sten;
using namespace sten::testing;

namespace {

std::unique_ptr<Trainer> trainer_on(Device device, const Recipe& r, Index read_every = 1) {
  return std::make_unique<Trainer>(std::make_shared<const Task>(r), nullptr,
                                   TrainerOptions{device, read_every});
}

// Of all steps.
std::vector<TrainStep> steps_of(Trainer& t) {
  std::vector<TrainStep> all;
  while (!t.is_done()) all.push_back(t.step());
  return all;
}

// AdamW's formula is fused on a device, as it is in all tables of kernels but the plain one; masks that
// are selected anew enlarge what rounding leaves.
double nearness() { return kernels::float32_isa() >= kernels::Isa::avx2 ? 1e-5 : 1e-3; }

void check_losses(const Recipe& r) {
  CAPTURE(r.name);
  const auto here = trainer_on(Device::cpu, r), there = trainer_on(Device::cuda, r);
  const std::vector<TrainStep> a = steps_of(*here), b = steps_of(*there);
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(a[i].loss - b[i].loss));
    CHECK(std::abs(a[i].norm - b[i].norm) <= 10 * nearness() * (1 + a[i].norm));
  }
  CHECK(most <= nearness());
  CHECK(a.back().loss < a.front().loss);
  CHECK(there->sparsity() == here->sparsity());
  for (const Parameter& p : there->state().parameters) CHECK(p.value.device() == Device::cuda);
  const auto measured = [&](const Trainer& t) {
    return t.task().measure(t.weights(), DataSplit::validation).loss;
  };
  CHECK(std::abs(measured(*here) - measured(*there)) <= nearness());
}

Recipe with(Recipe r, const std::string& target, const std::string& by, const std::string& layout,
            Index step, Index refresh) {
  r.name += "/" + layout + "/" + by;
  SparsityRecipe s = sparse(target, by);
  s.layout = Spec::parse(layout);
  s.schedule.kind = "one-shot";
  s.schedule.begin = step;
  s.mask = {"refresh", refresh};
  r.sparsity = {s};
  return r;
}

Recipe with_sgd(Recipe r) {
  r.name += "/sgd";
  r.optimizer.kind = "sgd";
  r.optimizer.rate = 0.05;
  r.optimizer.momentum = 0.9;
  r.optimizer.nesterov = true;
  r.optimizer.weight_decay = 1e-3;
  return r;
}

constexpr const char* layers = "layers.{0,1}.weight";
constexpr const char* encoder = "bert.encoder.layer.*.{query,key,value,dense}.weight";

// Until a number of steps is done, and then to the end.
void run(const std::string& recipe, const std::string& out, const std::string& device,
         Index until = 1 << 20) {
  TrainOptions o;
  o.recipe = recipe;
  o.out = out;
  o.resume = true;
  o.device = device;
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

TEST_CASE("losses of a perceptron in training on a device are the CPU's") {
  const SerialDevice device;
  const Warnings warnings;
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.steps = 40;
  r.clip = 1;
  r.ema = 0.9;
  check_losses(r);
  check_losses(with_sgd(r));
  check_losses(with(r, layers, "magnitude:sparsity=0.8", "masked", 5, 4));
  check_losses(with(r, layers, "per-block:n=2,m=4", "masked", 5, 4));
  check_losses(with(r, layers, "nmg:n=1,m=4,g=4", "nmg:n=1,m=4,g=4", 5, 6));
  check_losses(with_sgd(with(r, layers, "nmg:n=1,m=4,g=4", "nmg:n=1,m=4,g=4", 0, 0)));
  Recipe straight = with(r, layers, "magnitude:sparsity=0.8", "masked", 5, 0);
  straight.sparsity[0].mask.kind = "straight-through";
  check_losses(straight);
  // By parts of a batch, whose gradients are added up.
  r.accumulate = 4;
  check_losses(with(r, layers, "magnitude:sparsity=0.8", "masked", 5, 0));
}

TEST_CASE("losses of a BERT in training on a device are the CPU's") {
  const SerialDevice device;
  const Warnings warnings;
  const TempDir dir;
  Recipe r = small_bert(dir);
  r.steps = 20;
  r.clip = 1;
  check_losses(r);
  check_losses(with(r, encoder, "magnitude:sparsity=0.8", "masked", 4, 5));
  check_losses(with(r, encoder, "nmg:n=1,m=4,g=4", "nmg:n=1,m=4,g=4", 4, 0));
}

TEST_CASE("what has no steps on a device of its own trains there as on the CPU") {
  const SerialDevice device;
  const Warnings warnings;
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.steps = 20;
  Recipe learned = with(r, layers, "l0", "masked", 2, 0);
  learned.sparsity[0].mask.kind = "fixed";
  learned.sparsity[0].scores.emplace();
  learned.sparsity[0].scores->end = 15;
  check_losses(learned);
  Recipe ranked = with(r, layers, "gradient:sparsity=0.5", "masked", 5, 0);
  check_losses(ranked);
  check_losses(with(r, layers, "movement:sparsity=0.5", "masked", 5, 0));
  Recipe regrown = with(r, layers, "magnitude:sparsity=0.8", "masked", 5, 4);
  regrown.sparsity[0].mask.kind = "regrow";
  check_losses(regrown);
  Recipe calibrated = with(r, layers, "magnitude:sparsity=0.5", "masked", 5, 0);
  calibrated.sparsity[0].calibration.emplace().method = "sparsegpt";
  check_losses(calibrated);
  Recipe taught = r;
  taught.distillation.emplace();
  taught.distillation->teacher = dir / "teacher.safetensors";
  const auto teacher = trainer_of(r);
  save_weights(teacher->task().graph(), teacher->weights(), taught.distillation->teacher, true);
  check_losses(taught);
}

TEST_CASE("losses that are read back late are the same") {
  const SerialDevice device;
  const Warnings warnings;
  const TempDir dir;
  Recipe r = with(small_mlp(dir), layers, "magnitude:sparsity=0.8", "masked", 3, 2);
  r.clip = 1;
  r.accumulate = 2;
  const auto now = trainer_on(Device::cuda, r), late = trainer_on(Device::cuda, r, 5);
  const std::vector<TrainStep> wanted = steps_of(*now);
  for (Index i = 0; i < r.steps; ++i) {
    TrainStep s = late->step();
    const bool is_read = i % 5 == 4 || i + 1 == r.steps;
    CHECK(s.is_read == is_read);
    // Of the last step that was read.
    const Index of = is_read ? i : i / 5 * 5 - 1;
    CHECK(s.loss == (of < 0 ? 0 : wanted[static_cast<std::size_t>(of)].loss));
    if (i == 7) {
      late->read(s);
      CHECK(s.is_read);
      CHECK(s.loss == wanted[7].loss);
      CHECK(s.norm == wanted[7].norm);
      break;
    }
  }
  TrainStep last;
  while (!late->is_done()) last = late->step();
  CHECK(last.loss == wanted.back().loss);
  CHECK(last.norm == wanted.back().norm);
}

TEST_CASE("steps whose losses nobody asks for read nothing back" * stand_in_only()) {
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
        r = with(r, r.model.kind == "mlp" ? layers : encoder, "nmg:n=1,m=4,g=4", layout, 1, 0);
      const auto t = trainer_on(Device::cuda, r, 8);
      for (int i = 0; i < 3; ++i) t->step();
      const std::size_t before = SerialDevice::downloads();
      std::vector<std::string> plans;
      Operators::log_plans(&plans);
      t->step();
      Operators::log_plans(nullptr);
      // But for operators that the CPU does.
      const bool is_all_there = std::ranges::none_of(
          plans, [](const std::string& plan) { return has(plan, "on the CPU"); });
      CHECK(!plans.empty());
      if (is_all_there) CHECK(SerialDevice::downloads() == before);
    }
}

TEST_CASE("a loss that is no number is an error that names its step, late or not") {
  const SerialDevice device;
  const Warnings warnings;
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.steps = 30;
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
  CHECK(why(Device::cuda, 7) == here);
  // No checkpoint is made of it, nor is it ever done.
  const auto t = trainer_on(Device::cuda, r, 30);
  for (int i = 0; i < 10; ++i) t->step();
  TrainStep last;
  for (int again = 0; again < 2; ++again) CHECK(error_of([&] { t->read(last); }) == here);
}

TEST_CASE("ranks that train on devices have the losses of one process") {
  const SerialDevice device;
  const Warnings warnings;
  const TempDir dir;
  const Recipe mlp = small_mlp(dir);
  for (const Recipe& r : {with(mlp, layers, "magnitude:sparsity=0.8", "masked", 2, 4),
                          with(mlp, layers, "nmg:n=1,m=4,g=4", "nmg:n=1,m=4,g=4", 2, 0)}) {
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
        CHECK(std::abs(steps[i].loss - wanted[i].loss) <= nearness());
        CHECK(steps[i].loss == of[0][i].loss);
      }
    // Only what a mask keeps travels.
    CHECK(of[0].back().traffic.sparse_sent < of[0].back().traffic.sparse_dense / 2);
  }
}

TEST_CASE("a run goes on on another device than it has begun on") {
  const SerialDevice device;
  const Warnings warnings;
  const TempDir dir;
  Recipe r = with(small_mlp(dir), layers, "nmg:n=1,m=4,g=4", "nmg:n=1,m=4,g=4", 2, 4);
  r.steps = 24;
  r.clip = 1;
  r.log_every = 1;
  r.checkpoint_every = 5;
  r.evaluation.keep_best = true;
  r.evaluation.every = 6;
  const std::string recipe = dir.write("recipe.json", to_json(r));
  const auto of = [&](const std::string& name) {
    return metrics_of(read_recipe(recipe, {}), dir / name);
  };
  run(recipe, dir / "here", "cpu");
  run(recipe, dir / "there", "cuda");
  run(recipe, dir / "there-here", "cuda", 7);
  run(recipe, dir / "there-here", "cpu");
  run(recipe, dir / "here-there", "cpu", 7);
  run(recipe, dir / "here-there", "cuda");
  const std::vector<MetricsLine> wanted = of("here");
  for (const char* name : {"there", "there-here", "here-there"}) {
    CAPTURE(name);
    const std::vector<MetricsLine> got = of(name);
    REQUIRE(got.size() == wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      CHECK(got[i].step == wanted[i].step);
      CHECK(got[i].split == wanted[i].split);
      CHECK(std::abs(got[i].loss - wanted[i].loss) <= nearness());
      CHECK(got[i].sparsity == wanted[i].sparsity);
    }
    CHECK(names_in(dir / name) == names_in(dir / "here"));
  }
  CHECK(std::ranges::any_of(warnings.all, [](const std::string& w) {
    return has(w, "the run was one of") && has(w, ", cuda");
  }));
}
