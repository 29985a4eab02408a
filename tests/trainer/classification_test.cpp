// SPDX-License-Identifier: Apache-2.0
// BERT models that classify texts and tokens, compared step by step with those of transformers
// (classification_reference.py).
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "libsten/training/trainer/trainer.h"
#include "tests/support/sanitized.h"

using namespace sten;
using namespace sten::testing;

namespace {

const std::string classification_file =
    STEN_SOURCE_DIR "/tests/trainer/pytorch_classification.json";

}  // namespace

TEST_CASE("50 steps of BERT classifiers match the losses, accuracy and F1 of transformers") {
  std::ifstream in(classification_file);
  const auto all = nlohmann::json::parse(in);
  for (const auto& run : all.at("runs")) {
    for (const Index accumulate : {1, 2}) {
      Recipe recipe = parse_recipe(run.at("recipe").dump(), classification_file);
      CAPTURE(recipe.name);
      recipe.accumulate = accumulate;
      auto losses = run.at("losses").get<std::vector<double>>();
      REQUIRE(losses.size() == 50);
      CHECK(losses.back() < losses.front());
      if (is_short()) losses.resize(short_steps);
      Trainer trainer(std::make_shared<const Task>(recipe));
      CHECK(trainer.task().labels() == run.at("labels").get<std::vector<std::string>>());
      double furthest = 0;
      for (const double wanted : losses)
        furthest = std::max(furthest, std::abs(trainer.step().loss - wanted) / wanted);
      CHECK(furthest < 1e-5);
      if (is_short()) continue;
      const Measured m = trainer.task().measure(trainer.weights(), DataSplit::test);
      CHECK(m.loss == doctest::Approx(run.at("loss").get<double>()).epsilon(1e-5));
      CHECK(m.accuracy == doctest::Approx(run.at("accuracy").get<double>()).epsilon(1e-12));
      CHECK(m.f1.value() == doctest::Approx(run.at("f1").get<double>()).epsilon(1e-12));
    }
  }
}
