// SPDX-License-Identifier: Apache-2.0
// Training runs, compared step by step with PyTorch (pytorch_reference.py).
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "libsten/model/graph/graph_json.h"
#include "libsten/model/nn/layers.h"
#include "libsten/training/trainer/trainer.h"
#include "tests/support/sanitized.h"
#include "tests/support/temp_dir.h"

using namespace sten;
using namespace sten::testing;

namespace {

using Json = nlohmann::json;

const std::string reference_file = STEN_SOURCE_DIR "/tests/trainer/pytorch.json";

Json reference() {
  std::ifstream in(reference_file);
  return Json::parse(in);
}

// The recipe of a run; its paths are relative to the file.
Recipe recipe_of(const Json& run) { return parse_recipe(run.at("recipe").dump(), reference_file); }

// The MLP as user code.
struct WrittenModule : Module {
  Child<Linear> hidden = child<Linear>("layers.0", 64, 32), out = child<Linear>("layers.1", 32, 10);
  Var forward(const Var& x) const { return out(relu(hidden(x))); }
};

// Weights that become sparse are in `layout` while training, if one is given; `graph` is a file that
// stands for the model.
void check_run(const std::string& name, Index accumulate = 1, const std::string& layout = {},
               const std::string& graph = {}) {
  CAPTURE(name);
  CAPTURE(layout);
  const Json all = reference();
  const auto run = std::ranges::find_if(
      all.at("runs"), [&](const Json& r) { return r.at("recipe").at("name") == name; });
  REQUIRE(run != all.at("runs").end());
  Recipe recipe = recipe_of(*run);
  recipe.accumulate = accumulate;
  if (!layout.empty()) recipe.sparsity.at(0).layout = Spec::parse(layout);
  if (!graph.empty()) {
    recipe.model = {};
    recipe.model.kind = "graph";
    recipe.model.file = graph;
  }
  auto losses = run->at("losses").get<std::vector<double>>();
  REQUIRE(losses.size() == 50);
  const bool stops_early = is_short() && recipe.model.kind == "bert";
  if (stops_early) losses.resize(short_steps);
  Trainer trainer(std::make_shared<const Task>(recipe));
  double furthest = 0;
  for (const double wanted : losses) {
    const double got = trainer.step().loss;
    furthest = std::max(furthest, std::abs(got - wanted) / wanted);
  }
  // Rounding errors grow from step to step; they are below 1e-6 here.
  CHECK(furthest < 1e-5);
  if (stops_early) return;
  CHECK(trainer.is_done());
  // It learns.
  CHECK(losses.back() < losses.front());
  if (recipe.sparsity.empty()) return;
  Index kept = 0;
  for (const WeightStages& p : trainer.stages())
    kept += trainer.weights().at(p.weight).stored().count();
  CHECK(kept == run->at("kept").get<Index>());
}

}  // namespace

TEST_CASE("50 steps of SGD on an MLP match PyTorch's losses") {
  check_run("mlp.sgd");
  check_run("mlp.nesterov");
}

TEST_CASE("50 steps of AdamW on an MLP match PyTorch's losses") { check_run("mlp.adamw"); }

TEST_CASE("50 steps of SGD on a BERT match PyTorch's losses") {
  check_run("bert.sgd");
  check_run("bert.nesterov");
}

TEST_CASE("50 steps of AdamW on a BERT match PyTorch's losses") { check_run("bert.adamw"); }

TEST_CASE(
    "50 steps with clipping, warm-up, cosine schedule and weight decay match PyTorch's losses") {
  check_run("mlp.sgd.all");
  check_run("bert.adamw.all");
}

TEST_CASE("50 steps with gradient accumulation match PyTorch's losses") {
  check_run("mlp.sgd.all", 4);
  check_run("bert.adamw.all", 2);
}

TEST_CASE("50 steps with a fixed mask in masked, bitmask or csr layout match PyTorch's losses") {
  for (const char* layout : {"masked", "bitmask", "csr"}) {
    check_run("mlp.fixed.sgd", 1, layout);
    check_run("mlp.fixed.adamw", 1, layout);
  }
  check_run("mlp.fixed.sgd", 4);
}

TEST_CASE("50 steps of gradual pruning with refreshed masks match PyTorch's losses") {
  for (const char* layout : {"masked", "coo"}) {
    check_run("mlp.refresh.sgd", 1, layout);
    check_run("mlp.refresh.adamw", 1, layout);
  }
}

TEST_CASE("50 steps with fixed and refreshed n:m:g masks match PyTorch's losses") {
  check_run("mlp.nmg.adamw");
  check_run("mlp.nmg.adamw", 1, "nmg:n=1,m=4,g=4");
  check_run("mlp.nmg.refresh");
  check_run("mlp.nmg.refresh", 1, "nmg:n=2,m=4,g=2");
  check_run("bert.nmg.adamw", 1, "nmg:n=1,m=4,g=4");
}

TEST_CASE("50 steps of a traced user-defined module match PyTorch's losses") {
  const TempDir dir;
  WrittenModule net;
  const Graph g = trace(net, {{"x", Dense::zeros(DType::F32, {1, 64})}});
  const std::string file = dir.write("graph.json", to_json(g));
  for (const char* name : {"mlp.sgd", "mlp.adamw", "mlp.sgd.all", "mlp.fixed.adamw",
                           "mlp.refresh.sgd", "mlp.nmg.adamw"})
    check_run(name, 1, {}, file);
  check_run("mlp.sgd", 4, {}, file);
}

TEST_CASE("the shipped model matches PyTorch's loss and accuracy on the test split" *
          doctest::skip(is_short())) {
  const Json wanted = reference().at("measured");
  const Task task(recipe_of(wanted));
  const Measured got = task.measure(task.first_weights(), DataSplit::test);
  CHECK(got.count == wanted.at("count").get<Index>());
  CHECK(std::abs(got.loss - wanted.at("loss").get<double>()) < 1e-3);
  CHECK(std::abs(got.accuracy - wanted.at("accuracy").get<double>()) < 1e-3);
}
