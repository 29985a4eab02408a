// Training runs, step by step, beside PyTorch's: what pytorch_reference.py wrote.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "libsten/train/trainer.h"

using namespace sten;

namespace {

using Json = nlohmann::json;

const std::string reference_file = STEN_SOURCE_DIR "/tests/train/pytorch.json";

Json reference() {
  std::ifstream in(reference_file);
  return Json::parse(in);
}

// The run of that name; paths in its recipe begin at the file.
Recipe recipe_of(const Json& run) { return parse_recipe(run.at("recipe").dump(), reference_file); }

void check_run(const std::string& name, Index accumulate = 1) {
  CAPTURE(name);
  const Json all = reference();
  const auto run = std::ranges::find_if(
      all.at("runs"), [&](const Json& r) { return r.at("recipe").at("name") == name; });
  REQUIRE(run != all.at("runs").end());
  Recipe recipe = recipe_of(*run);
  recipe.accumulate = accumulate;
  const auto losses = run->at("losses").get<std::vector<double>>();
  REQUIRE(losses.size() == 50);
  Trainer trainer(std::make_shared<const Task>(recipe));
  double furthest = 0;
  for (const double wanted : losses) {
    const double got = trainer.step().loss;
    furthest = std::max(furthest, std::abs(got - wanted) / wanted);
  }
  // What float32 rounds away grows from step to step; it is below 1e-6 here.
  CHECK(furthest < 1e-5);
  CHECK(trainer.is_done());
  // It learns.
  CHECK(losses.back() < losses.front());
}

}  // namespace

TEST_CASE("fifty steps of SGD on a perceptron have PyTorch's losses") {
  check_run("mlp.sgd");
  check_run("mlp.nesterov");
}

TEST_CASE("fifty steps of AdamW on a perceptron have PyTorch's losses") { check_run("mlp.adamw"); }

TEST_CASE("fifty steps of SGD on a BERT have PyTorch's losses") {
  check_run("bert.sgd");
  check_run("bert.nesterov");
}

TEST_CASE("fifty steps of AdamW on a BERT have PyTorch's losses") { check_run("bert.adamw"); }

TEST_CASE("so have those with clipping, warm-up, a cosine and weight decay") {
  check_run("mlp.sgd.all");
  check_run("bert.adamw.all");
}

TEST_CASE("so have those that are computed in parts") {
  check_run("mlp.sgd.all", 4);
  check_run("bert.adamw.all", 2);
}

TEST_CASE("the shipped model has PyTorch's loss and accuracy on text that it was not trained on") {
  const Json wanted = reference().at("measured");
  const Task task(recipe_of(wanted));
  const Measured got = task.measure(task.first_weights(), DataSplit::test);
  CHECK(got.count == wanted.at("count").get<Index>());
  CHECK(std::abs(got.loss - wanted.at("loss").get<double>()) < 1e-3);
  CHECK(std::abs(got.accuracy - wanted.at("accuracy").get<double>()) < 1e-3);
}
