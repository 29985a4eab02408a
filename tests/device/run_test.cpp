// SPDX-License-Identifier: Apache-2.0
// sten-run on a device: outputs equal the CPU's; nothing falls back, and only outputs are copied
// back.
#include <doctest/doctest.h>

#include <cmath>

#include "libsten/core/base/fallback.h"
#include "libsten/model/execution/executor.h"
#include "libsten/programs/run/given_inputs.h"
#include "libsten/programs/run/run_model.h"
#include "libsten/programs/train/train.h"
#include "tests/device/serial_backend.h"
#include "tests/support/laws.h"
#include "tests/support/small_bert.h"
#include "tests/support/strict.h"
#include "tests/support/warnings.h"
#include "tests/trainer/small_runs.h"

using namespace sten;
using namespace sten::testing;

namespace {

bool is_near(const Dense& a, const Dense& b) {
  if (a.extents != b.extents) return false;
  const auto x = a.values.as<float>(), y = b.values.as<float>();
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!(std::abs(x[i] - y[i]) <= 1e-5)) return false;
  return true;
}

// Trains a recipe with weights in that layout.
std::string model_of(const TempDir& dir, Recipe r, const std::string& target,
                     const std::string& layout) {
  r.steps = 4;
  if (layout != "dense") {
    SparsityRecipe s = sparse(target, "nmg:n=1,m=4,g=4");
    s.layout = Spec::parse(layout);
    s.schedule.kind = "one-shot";
    s.mask = {"fixed", 0};
    r.sparsity = {s};
  }
  TrainOptions o;
  o.recipe = dir.write("recipe.json", to_json(r));
  o.out = dir / (r.name + layout);
  train(o);
  return o.out;
}

double scalar_in(const Report& r, std::string_view key) {
  for (const auto& [name, cell] : r.facts)
    if (name == key) return std::get<double>(cell);
  FAIL("there is no " << key);
  return 0;
}

void check_model(const TempDir& dir, const Recipe& r, const std::string& target) {
  for (const char* layout : {"dense", "masked", "nmg:n=1,m=4,g=4"}) {
    CAPTURE(r.name);
    CAPTURE(layout);
    set_strict(false);
    const std::string model = model_of(dir, r, target, layout);
    set_strict(true);
    std::vector<Dense> y;
    std::vector<double> losses;
    for (const char* device : {"cpu", "cuda"}) {
      RunOptions o;
      o.model.path = o.against = model;
      o.model.device = DeviceSpec::parse(device);
      o.outputs = {dir / "y.npy"};
      o.force = true;
      o.model.repeats = 2;
      const Outcome outcome = run_model(o);
      losses.push_back(scalar_in(outcome.report, "loss"));
      CHECK(scalar_in(outcome.report, "latency/p50") > 0);
      CHECK(scalar_in(outcome.report, "against/max_difference") == 0);
      y.push_back(read_values(dir / "y.npy"));
    }
    CHECK(y[0].size() > 0);
    CHECK(is_near(y[0], y[1]));
    CHECK(std::abs(losses[0] - losses[1]) <= 1e-5);
  }
}

}  // namespace

TEST_CASE("sten-run of a digits perceptron on a device matches the CPU without a fallback") {
  const SerialDevice device;
  const Strict strict;
  const Warnings warnings;
  const TempDir dir;
  check_model(dir, read_recipe(std::string(STEN_SOURCE_DIR) + "/recipes/digits-mlp-dense.json", {}),
              "layers.{0,1}.weight");
}

TEST_CASE("sten-run of a small BERT on a device matches the CPU without a fallback") {
  const SerialDevice device;
  const Strict strict;
  const Warnings warnings;
  const TempDir dir;
  check_model(dir, small_bert(dir), "bert.encoder.layer.*.{query,key,value,dense}.weight");
}

TEST_CASE("sten-run of a small Llama on a device matches the CPU without a fallback") {
  const SerialDevice device;
  const Strict strict;
  const Warnings warnings;
  const TempDir dir;
  check_model(dir, small_llama(dir), "model.layers.*_proj.weight");
}

TEST_CASE("repeated runs of the executor on a device copy nothing to or from the CPU" *
          stand_in_only()) {
  const SerialDevice device;
  const Strict strict;
  const Warnings warnings;
  const Graph g = bert(small_bert(), {.mask = true});
  NamedValues<Tensor> in = bert_values(2, 16, true);
  for (auto& [name, x] : in) x = x.to(Device::cuda);
  for (const char* layout : {"dense", "masked", "nmg:n=1,m=4,g=4"}) {
    CAPTURE(layout);
    Executor executor(g, bert_weights(g, layout, 1), {.device = Device::cuda});
    executor.run(in);
    const std::size_t down = SerialDevice::downloads(), up = SerialDevice::uploads();
    for (const auto& [name, y] : executor.run(in)) CHECK(y.device() == Device::cuda);
    CHECK(SerialDevice::downloads() == down);
    CHECK(SerialDevice::uploads() == up);
    for (const ExecutionStep& s : executor.plan().steps) CHECK(s.seconds == 0);
    executor.time_steps(true);
    executor.run(in);
    CHECK(executor.plan().steps.size() == g.nodes().size());
    for (const ExecutionStep& s : executor.plan().steps) {
      CHECK(s.seconds > 0);
      CHECK(has(s.why, "cuda"));
    }
  }
}

TEST_CASE("timed repetitions of sten-run on a device copy nothing back" * stand_in_only()) {
  const SerialDevice device;
  const Strict strict;
  const Warnings warnings;
  const TempDir dir;
  RunOptions o;
  set_strict(false);
  o.model.path = model_of(dir, small_bert(dir), "", "dense");
  set_strict(true);
  o.model.device = {Device::cuda};
  const auto copies = [&](int repeats) {
    o.model.repeats = repeats;
    const std::size_t before = SerialDevice::downloads();
    run_model(o);
    return SerialDevice::downloads() - before;
  };
  CHECK(copies(0) > 0);
  CHECK(copies(7) == copies(0));
}

TEST_CASE("sten-run --explain on a device reports execution steps and how they are timed") {
  const SerialDevice device;
  const Strict strict;
  const Warnings warnings;
  const TempDir dir;
  RunOptions o;
  set_strict(false);
  o.model.path = model_of(dir, small_mlp(dir), "", "dense");
  set_strict(true);
  o.model.device = {Device::cuda};
  o.model.explain = true;
  const Report r = run_model(o).report;
  CHECK(r.item == "steps");
  CHECK(r.rows.size() >= 5);
  CHECK(has(r.notes.back(), "waits for it after each"));
  for (const auto& [name, cell] : r.facts) CHECK(name != "memory/peak");
}

TEST_CASE("CPU-only options of sten-run are rejected on a device before inputs are read") {
  RunOptions o;
  o.model.path = "/nothing/there";
  o.model.device = {Device::cuda};
  const auto is_refused = [](const RunOptions& given) {
    return fault_of([&] { run_model(given); }) == Fault::usage &&
           has(error_of([&] { run_model(given); }), "needs --device cpu");
  };
  RunOptions low = o, text = o, fastest = o;
  low.model.precision = {"bf16"};
  text.generation.text.count = 3;
  fastest.model.layouts = {"auto"};
  CHECK(is_refused(low));
  CHECK(is_refused(text));
  CHECK(is_refused(fastest));
}
