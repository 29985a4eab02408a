// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/nn/resnet.h"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "libsten/model/graph/dropout.h"
#include "libsten/model/graph/inference.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Excludes running statistics, as PyTorch's parameter count does.
Index parameters_of(const Graph& g) {
  Index all = 0;
  for (const Weight& w : g.weights())
    if (!g.is_statistic(w.name)) all += size_of(w.shape);
  return all;
}

NamedValues<Tensor> inputs_of(const Graph& g, const Tensor& x) {
  NamedValues<Tensor> in{{"x", x}};
  if (g.inputs().size() > 1) in.emplace(draw_input, Dense::zeros(DType::I64, {}));
  return in;
}

}  // namespace

TEST_CASE("ResNet weights have the names and shapes of torchvision") {
  std::ifstream in(STEN_SOURCE_DIR "/tests/nn/torchvision.json");
  const auto all = nlohmann::ordered_json::parse(in);
  for (const Index depth : {18, 50}) {
    CAPTURE(depth);
    const Graph g = resnet({.depth = depth});
    const auto& wanted = all.at(fmt::format("resnet{}", depth));
    REQUIRE(g.weights().size() == wanted.size());
    for (const auto& item : wanted.items()) {
      const std::string& name = item.key();
      const Weight* w = g.find_weight(name);
      CAPTURE(name);
      REQUIRE(w);
      CHECK(w->shape == item.value().get<Shape>());
    }
  }
}

TEST_CASE("ResNets and Wide ResNets have the published number of parameters") {
  CHECK(parameters_of(resnet({.depth = 18})) == 11689512);
  CHECK(parameters_of(resnet({.depth = 34})) == 21797672);
  CHECK(parameters_of(resnet({.depth = 50})) == 25557032);
  CHECK(parameters_of(resnet({.depth = 101})) == 44549160);
  CHECK(parameters_of(resnet({.depth = 152})) == 60192808);
  CHECK(parameters_of(wide_resnet({.depth = 28, .width = 10})) == 36479194);
  CHECK(parameters_of(wide_resnet({.depth = 10, .width = 1})) == 77850);
}

TEST_CASE("ResNets are initialized as in PyTorch, and a Wide ResNet's fc.bias with zeros") {
  const Graph g = resnet({.depth = 18, .width = 8});
  CHECK(g.find_weight("layer2.0.conv1.weight")->init.number("std") ==
        doctest::Approx(std::sqrt(2.0 / (16 * 9))));
  CHECK(g.find_weight("bn1.weight")->init.is("ones"));
  CHECK(g.find_weight("bn1.running_var")->init.is("ones"));
  CHECK(g.find_weight("bn1.running_mean")->init.is("zeros"));
  CHECK(g.find_weight("fc.bias")->init.number("bound") == doctest::Approx(0.125));
  CHECK(wide_resnet({.depth = 10}).find_weight("fc.bias")->init.is("zeros"));
}

TEST_CASE("ResNets and Wide ResNets run on non-square images in training and inference") {
  Dice dice(1);
  const Tensor x = normals(dice, {2, 17, 20, 1});
  const Graph all[] = {
      resnet({.depth = 18, .classes = 5, .channels = 1, .width = 4, .small_images = true}),
      resnet({.depth = 50, .classes = 5, .channels = 1, .width = 4}),
      wide_resnet({.depth = 16, .width = 1, .classes = 5, .channels = 1, .dropout = 0.3})};
  for (const Graph& g : all) {
    const NamedValues<Tensor> w = initial_weights(g, 1);
    const std::string& logits = g.outputs().front();
    CHECK(logits == "fc");
    CHECK(g.run<Tensor>(w, inputs_of(g, x)).at(logits).shape() == Shape{2, 5});
    const Graph after = inference_graph(g);
    CHECK(after.inputs() == std::vector<std::string>{"x"});
    for (const Node& n : after.nodes()) {
      CHECK(n.op.text() != "batch-norm-train");
      CHECK(n.op.text() != "batch-moments");
      CHECK(n.op.text() != "dropout");
    }
    CHECK(after.run<Tensor>(w, {{"x", x}}).at(logits).shape() == Shape{2, 5});
  }
}

TEST_CASE("unsupported ResNet depths and zero classes are rejected") {
  CHECK(error_of([] { resnet({.depth = 20}); }) ==
        "resnet: unknown depth 20 (expected 18, 34, 50, 101 or 152)");
  CHECK(error_of([] { wide_resnet({.depth = 18}); }) ==
        "wide-resnet: expected a depth of 6n + 4 (10, 16, 28, 40), got 18");
  CHECK(has(error_of([] { resnet({.classes = 0}); }), "must be >= 1"));
}
