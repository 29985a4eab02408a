// SPDX-License-Identifier: Apache-2.0
// A model that runs on tensors in memory.
#include "libsten/programs/run/model_runner.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "libsten/files/checkpoint/named_tensors.h"
#include "tests/support/temp_dir.h"

using namespace sten;

namespace {

constexpr const char* graph =
    R"({"inputs": ["x"], "outputs": ["y"], "weights": [{"name": "w", "shape": [2, 3]}],
    "nodes": [{"name": "y", "op": "linear", "inputs": ["x", "w"]}]})";

std::vector<float> numbers(const Dense& x) {
  const auto v = x.values.as<float>();
  return {v.begin(), v.end()};
}

// A directory with a linear layer, whose graph does not describe the input.
struct Layer {
  TempDir dir;
  ModelOptions options{.path = dir / "w.safetensors", .config = dir.write("graph.json", graph)};

  Layer() {
    save_tensors(options.path, NamedTensors{{"w", Dense::of({2, 3}, {1, 0, 0, 0, 2, 0})}}, false);
  }
};

Dense result(ModelRunner& model, const Shape& shape, std::initializer_list<float> x) {
  return model.run({{"x", Dense::of(shape, x), "x", "x"}}).at("y").to_dense();
}

}  // namespace

TEST_CASE("ModelRunner does not overwrite the outputs of earlier runs") {
  const Layer layer;
  ModelRunner model(layer.options);
  CHECK(model.inputs() == std::vector<std::string>{"x"});
  CHECK(model.outputs() == std::vector<std::string>{"y"});
  CHECK(model.plan().steps.empty());
  const Dense first = result(model, {1, 3}, {1, 2, 3});
  CHECK(numbers(first) == std::vector<float>{1, 4});
  CHECK_FALSE(model.plan().steps.empty());
  CHECK(numbers(result(model, {1, 3}, {3, 2, 1})) == std::vector<float>{3, 4});
  CHECK(numbers(first) == std::vector<float>{1, 4});
  CHECK(numbers(result(model, {2, 3}, {1, 1, 1, 0, 0, 1})) == std::vector<float>{1, 2, 0, 0});
  // Another rank of an input that the graph does not describe.
  CHECK(result(model, {1, 2, 3}, {1, 1, 1, 0, 0, 1}).extents == Shape{1, 2, 2});
}

TEST_CASE("ModelRunner uses the layouts of its options and stays usable after an error") {
  Layer layer;
  layer.options.layouts = {"w=csr"};
  ModelRunner model(layer.options);
  CHECK(numbers(result(model, {1, 3}, {1, 2, 3})) == std::vector<float>{1, 4});
  CHECK(std::ranges::any_of(model.plan().steps,
                            [](const ExecutionStep& s) { return s.layout == "csr"; }));
  CHECK_THROWS_WITH_AS(result(model, {1, 4}, {1, 2, 3, 4}),
                       doctest::Contains("x is [1, 4] but w has 3 columns"), Error);
  CHECK_THROWS_WITH_AS(model.run({{"z", Dense::of({1}, {1}), "z", "z"}}),
                       doctest::Contains("unknown input 'z'"), Error);
  CHECK(numbers(result(model, {1, 3}, {1, 2, 3})) == std::vector<float>{1, 4});
}
