// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/graph/inference.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "libsten/model/graph/graph_json.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

// A batch norm with statistics between two dropouts.
GraphParts normed() {
  GraphParts g;
  g.inputs = {"x", "draw"};
  for (const char* name : {"gamma", "variance"}) g.weights.push_back({name, {3}, Spec("ones")});
  for (const char* name : {"beta", "mean"}) g.weights.push_back({name, {3}, Spec("zeros")});
  const auto half = Attributes().set("p", 0.5);
  g.nodes = {
      {"before", "dropout", {"x", "draw"}, half},
      {"moments", "batch-moments", {"before"}, Attributes().set("sample", Index{1})},
      {"norm", "batch-norm-train", {"before", "gamma", "beta"}, Attributes().set("relu", Index{1})},
      {"after", "dropout", {"norm", "draw"}, half}};
  g.outputs = {"after"};
  g.statistics = {{"moments", "mean", "variance", 0.25}};
  return g;
}

}  // namespace

TEST_CASE("an inference graph has no dropout and uses running statistics") {
  const Graph g = inference_graph(Graph(normed()));
  CHECK(g.inputs() == std::vector<std::string>{"x"});
  CHECK(g.weights().size() == 4);
  CHECK(g.statistics().empty());
  REQUIRE(g.nodes().size() == 2);
  CHECK((g.nodes()[0].op == Name("batch-norm")));
  CHECK(g.nodes()[0].inputs == std::vector<std::string>{"x", "gamma", "beta", "mean", "variance"});
  // An output keeps its name.
  CHECK((g.nodes()[1].op == Name("identity")));
  Dice dice(1);
  const Tensor x = normals(dice, {5, 3}), gamma = normals(dice, {3}), beta = normals(dice, {3}),
               mean = normals(dice, {3}), variance = mul(mean, mean);
  const Tensor y =
      g.run<Tensor>({{"gamma", gamma}, {"beta", beta}, {"mean", mean}, {"variance", variance}},
                    {{"x", x}})
          .at("after");
  CHECK(same_bits(y.to_dense(), relu(batch_norm(x, gamma, beta, mean, variance)).to_dense()));
}

TEST_CASE("train_batch_norms() is the inverse of inference_graph()") {
  GraphParts parts = normed();
  parts.nodes.erase(parts.nodes.begin());
  for (Node& n : parts.nodes) std::ranges::replace(n.inputs, "before", "x");
  parts.nodes.back() = {"after", "relu", {"norm"}};
  parts.inputs.pop_back();
  const Graph runs = inference_graph(Graph(std::move(parts)));
  const Graph trains = train_batch_norms(runs, {{"mean", 0.25}});
  REQUIRE(trains.statistics().size() == 1);
  CHECK(trains.statistics()[0].momentum == 0.25);
  CHECK(trains.find_node(trains.statistics()[0].moments)->attributes.integer("sample", 0) == 1);
  CHECK((trains.find_node("norm")->op == Name("batch-norm-train")));
  CHECK(trains.find_node("norm")->attributes.integer("relu", 0) == 1);
  CHECK(to_json(inference_graph(trains)) == to_json(runs));
  CHECK(train_batch_norms(runs).statistics()[0].momentum == 0.1);
}

TEST_CASE("batch norms of the same value have separate running statistics and cannot share them") {
  GraphParts parts;
  parts.inputs = {"x"};
  for (const char* name : {"gamma", "beta", "mean", "variance", "mean2", "variance2"})
    parts.weights.push_back({name, {3}});
  parts.nodes = {{"a", "batch-norm", {"x", "gamma", "beta", "mean", "variance"}},
                 {"b", "batch-norm", {"x", "gamma", "beta", "mean2", "variance2"}},
                 {"y", "add", {"a", "b"}}};
  parts.outputs = {"y"};
  const Graph both = inference_graph(train_batch_norms(Graph(parts)));
  CHECK(both.find_node("a")->inputs[3] == "mean");
  CHECK(both.find_node("b")->inputs[3] == "mean2");
  parts.nodes[1].inputs[3] = "mean";
  CHECK(has(error_of([&] { train_batch_norms(Graph(parts)); }),
            "'mean' has other statistics already"));
  parts.nodes[1].inputs[3] = "x";
  CHECK(error_of([&] { train_batch_norms(Graph(parts)); }) ==
        "node 'b': running statistics 'x': expected a weight");
}

TEST_CASE("prune_to_outputs() keeps only the running statistics that the outputs need") {
  GraphParts parts = normed();
  prune_to_outputs(parts, {"norm"});
  CHECK(Graph(parts).statistics().size() == 1);
  prune_to_outputs(parts, {"before"});
  CHECK(parts.nodes.size() == 1);
  CHECK(parts.statistics.empty());
}

TEST_CASE("inference_graph() leaves a batch norm without running statistics unchanged") {
  GraphParts parts = normed();
  parts.statistics.clear();
  const Graph g = inference_graph(Graph(std::move(parts)));
  CHECK((g.find_node("norm")->op == Name("batch-norm-train")));
}

TEST_CASE("running statistics survive the round trip through JSON") {
  const Graph g = parse_graph(to_json(Graph(normed())));
  REQUIRE(g.statistics().size() == 1);
  CHECK(g.statistics()[0].moments == "moments");
  CHECK(g.statistics()[0].mean == "mean");
  CHECK(g.statistics()[0].variance == "variance");
  CHECK(g.statistics()[0].momentum == 0.25);
  CHECK(to_json(g) == to_json(Graph(normed())));
}

TEST_CASE("running statistics with an invalid node, weight or momentum are rejected") {
  const auto error = [](const auto& change) {
    GraphParts parts = normed();
    change(parts.statistics[0]);
    return error_of([&] { Graph g(std::move(parts)); });
  };
  CHECK(error([](auto& s) { s.moments = "norm"; }) ==
        "statistics of 'norm': expected a node of the operator batch-moments");
  CHECK(error([](auto& s) { s.mean = "x"; }) ==
        "statistics of 'moments': 'x' must be a weight with one axis");
  CHECK(error([](auto& s) { s.variance = "mean"; }) ==
        "statistics of 'moments': 'mean' has other statistics already");
  CHECK(has(error([](auto& s) { s.momentum = 2; }), "momentum must be in [0, 1], got 2"));
}
