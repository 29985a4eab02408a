// SPDX-License-Identifier: Apache-2.0
// Training runs of convolutional models, compared step by step with PyTorch (image_reference.py).
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "libsten/training/trainer/trainer.h"
#include "tests/support/sanitized.h"

using namespace sten;
using namespace sten::testing;

namespace {

using Json = nlohmann::json;

const std::string images_reference = STEN_SOURCE_DIR "/tests/trainer/pytorch_images.json";

// Weights that become sparse are in `layout` while training, if one is given. `onnx`: the model as
// an export, which has the initial weights, instead of the recipe's.
void check_images(const std::string& name, const std::string& layout = {},
                  const std::string& onnx = {}) {
  CAPTURE(name);
  CAPTURE(layout);
  const char* other = std::getenv("STEN_IMAGES_REFERENCE");  // one of wider models
  const std::string file = other ? other : images_reference;
  std::ifstream in(file);
  const Json all = Json::parse(in);
  const auto run = std::ranges::find_if(
      all.at("runs"), [&](const Json& r) { return r.at("recipe").at("name") == name; });
  if (other && run == all.at("runs").end()) return;
  REQUIRE(run != all.at("runs").end());
  Recipe recipe = parse_recipe(run->at("recipe").dump(), images_reference);
  if (!layout.empty()) recipe.sparsity.at(0).layout = Spec::parse(layout);
  if (!onnx.empty()) {
    recipe.data.std = {1, 1, 1};  // rows are images, and become channels first
    recipe.model = {};
    recipe.model.kind = "onnx";
    recipe.model.file = onnx;
  }
  auto losses = run->at("losses").get<std::vector<double>>();
  REQUIRE(losses.size() == 50);
  if (is_short()) losses.resize(short_steps);
  Trainer trainer(std::make_shared<const Task>(recipe));
  double furthest = 0;
  for (const double wanted : losses) {
    const double got = trainer.step().loss;
    furthest = std::max(furthest, std::abs(got - wanted) / wanted);
  }
  if (other) MESSAGE(name << ": " << furthest);
  // Forward pass only: normalizing few values amplifies rounding errors.
  const bool is_still = recipe.optimizer.rate < 1e-6;
  CHECK(furthest < (is_still ? 5e-4 : 1e-4));
  if (is_short()) return;
  if (!is_still) CHECK(losses.back() < losses.front());
  // By the running statistics.
  const double wanted = run->at("evaluated").get<double>();
  const double got = trainer.task().measure(trainer.weights(), DataSplit::validation).loss;
  if (other) MESSAGE(name << ", evaluated: " << std::abs(got - wanted) / wanted);
  CHECK(std::abs(got - wanted) / wanted < 1e-3);
  if (recipe.sparsity.empty()) return;
  Index kept = 0;
  for (const WeightStages& p : trainer.stages())
    kept += trainer.weights().at(p.weight).stored().count();
  CHECK(kept == run->at("kept").get<Index>());
}

}  // namespace

TEST_CASE("50 steps of a wide ResNet match PyTorch's losses: dense, fixed mask, refreshed mask") {
  check_images("wrn.dense");
  for (const char* layout : {"masked", "csr"}) {
    check_images("wrn.fixed", layout);
    check_images("wrn.refresh", layout);
  }
}

TEST_CASE("50 steps of a ResNet-18 match torchvision's losses: dense, fixed mask, refreshed mask") {
  check_images("resnet.dense");
  check_images("resnet.fixed");
  check_images("resnet.refresh");
}

TEST_CASE("50 forward passes of a ResNet-50 in training mode match torchvision's losses") {
  check_images("resnet50.dense");
}

TEST_CASE("an ONNX export in training mode matches torchvision's training and validation losses") {
  if (std::getenv("STEN_IMAGES_REFERENCE")) return;
  check_images("resnet.dense", {}, STEN_SOURCE_DIR "/tests/trainer/resnet.onnx");
}
