// SPDX-License-Identifier: Apache-2.0
// Methods that recover accuracy, compared step by step with PyTorch (recovery_reference.py).
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "libsten/model/nn/weights.h"
#include "libsten/training/trainer/trainer.h"
#include "tests/support/sanitized.h"
#include "tests/support/temp_dir.h"

using namespace sten;
using namespace sten::testing;

namespace {

const std::string recovery_file = STEN_SOURCE_DIR "/tests/trainer/pytorch_recovery.json";

// The recipe's initial weights with another seed.
std::string teacher_of(Recipe r, std::uint64_t seed, const std::string& file) {
  r.distillation.reset();
  r.seed = seed;
  const Task task(r);
  save_weights(task.graph(), task.first_weights(), file, true);
  return file;
}

}  // namespace

TEST_CASE("50 steps with distillation, label smoothing or dynamic masks match PyTorch's losses") {
  const TempDir dir;
  std::ifstream in(recovery_file);
  const auto all = nlohmann::json::parse(in);
  for (const auto& run : all.at("runs")) {
    Recipe recipe = parse_recipe(run.at("recipe").dump(), recovery_file);
    CAPTURE(recipe.name);
    if (recipe.distillation)
      recipe.distillation->teacher =
          teacher_of(recipe, run.at("teacher_seed"), dir / (recipe.name + ".safetensors"));
    auto losses = run.at("losses").get<std::vector<double>>();
    REQUIRE(losses.size() == 50);
    CHECK(losses.back() < losses.front());
    if (is_short() && recipe.model.kind == "bert") losses.resize(short_steps);
    Trainer trainer(std::make_shared<const Task>(recipe));
    double furthest = 0;
    for (const double wanted : losses)
      furthest = std::max(furthest, std::abs(trainer.step().loss - wanted) / wanted);
    CHECK(furthest < 1e-5);
  }
}
