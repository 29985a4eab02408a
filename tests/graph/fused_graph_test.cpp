// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/fusion/fused_graph.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "libsten/core/registry/registry.h"
#include "libsten/model/graph/graph_json.h"
#include "libsten/model/nn/image_graph.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

Sparsifier halved() { return registry().sparsifier(Spec::parse("magnitude:sparsity=0.5")); }

constexpr Index width = 8, heads = 2;

Attributes axes(Attributes::List list) { return Attributes().set("axes", std::move(list)); }
Attributes over_last() { return axes({-1}).set("keep", Index{1}); }
Attributes to_shape(Attributes::List list) {
  return Attributes().set("shape", std::move(list)).set("copy-zeros", Index{1});
}

// A graph of x [batch, tokens, 8], in the operators that exporters write.
class Unfused {
 public:
  Unfused() {
    g.inputs = {"x"};
    number("two", 2);
    number("eps", 1e-5F);
    number("root", std::sqrt(2.0F));
    number("one", 1);
    number("half", 0.5F);
    number("scale", 1 / std::sqrt(static_cast<float>(width / heads)));
  }
  std::string node(const std::string& name, const char* op, std::vector<std::string> in,
                   Attributes a = {}) {
    g.nodes.push_back({name, op, std::move(in), std::move(a)});
    return name;
  }
  std::string weight(const std::string& name, Shape shape) {
    g.weights.push_back({name, std::move(shape), Spec("normal").set("std", "0.5")});
    return name;
  }
  std::string linear(const std::string& name, const std::string& x) {
    node(name + ".t", "transpose", {weight(name + ".weight", {width, width})}, axes({1, 0}));
    node(name + ".product", "matmul", {x, name + ".t"});
    return node(name, "add", {name + ".product", weight(name + ".bias", {width})});
  }
  std::string layer_norm(const std::string& x) {
    node("mean", "mean", {x}, over_last());
    node("centered", "sub", {x, "mean"});
    node("squares", "pow", {"centered", "two"});
    node("variance", "mean", {"squares"}, over_last());
    node("shifted", "add", {"variance", "eps"});
    node("deviation", "sqrt", {"shifted"});
    node("normal", "div", {"centered", "deviation"});
    node("scaled", "mul", {"normal", weight("gamma", {width})});
    return node("norm", "add", {"scaled", weight("beta", {width})});
  }
  std::string gelu(const std::string& x) {
    node("ratio", "div", {x, "root"});
    node("erf", "erf", {"ratio"});
    node("more", "add", {"erf", "one"});
    node("product", "mul", {x, "more"});
    return node("gelu", "mul", {"product", "half"});
  }
  std::string attention(const std::string& x) {
    for (const char* part : {"q", "k", "v"}) {
      const std::string name(part);
      node(name + ".heads", "reshape", {linear(name, x)}, to_shape({0, 0, heads, width / heads}));
      node(name + ".turned", "transpose", {name + ".heads"},
           axes(name == "k" ? Attributes::List{0, 2, 3, 1} : Attributes::List{0, 2, 1, 3}));
    }
    node("qk", "matmul", {"q.turned", "k.turned"});
    node("scores", "mul", {"qk", "scale"});
    node("shares", "softmax", {"scores"}, Attributes().set("axis", Index{-1}));
    node("context", "matmul", {"shares", "v.turned"});
    node("together", "transpose", {"context"}, axes({0, 2, 1, 3}));
    return node("attention", "reshape", {"together"}, to_shape({0, 0, width}));
  }

  GraphParts g;

 private:
  void number(const char* name, float x) { g.constants.push_back({name, Dense::of({}, {x})}); }
};

Unfused transformer() {
  Unfused u;
  u.g.outputs = {u.gelu(u.layer_norm(u.attention("x")))};
  return u;
}

std::vector<std::string> operators_of(const Graph& g) {
  std::vector<std::string> all;
  for (const Node& n : g.nodes()) all.emplace_back(n.op.text());
  return all;
}

GraphPort float_port(const char* name, std::vector<GraphPort::Extent> shape) {
  return {name, DType::F32, std::move(shape)};
}
const std::vector<GraphPort> tokens{float_port("x", {{{}, "batch"}, {{}, "tokens"}, {width, ""}})};

double largest_difference(const Graph& a, const Graph& b, const NamedValues<Tensor>& weights,
                          const NamedValues<Tensor>& inputs) {
  const NamedValues<Tensor> all = a.run<Tensor>(weights, inputs),
                            others = b.run<Tensor>(weights, inputs);
  REQUIRE(all.size() == others.size());
  double most = 0;
  for (const auto& [name, value] : all) {
    const Dense x = value.to_dense(), y = others.at(name).to_dense();
    REQUIRE(x.extents == y.extents);
    const std::vector<float> u = floats(x), v = floats(y);
    for (std::size_t i = 0; i < u.size(); ++i)
      most = std::max(most, std::abs(double{u[i]} - double{v[i]}));
  }
  return most;
}

}  // namespace

TEST_CASE("fusion finds layer norm, gelu, attention and linear layers in a graph from JSON") {
  const Graph g = parse_graph(to_json(Graph(transformer().g)));
  const Graph fused = fused_graph(g, tokens);
  CHECK(operators_of(fused) ==
        std::vector<std::string>{"linear", "linear", "linear", "attention", "layer-norm", "gelu"});
  for (const char* name : {"q", "k", "v", "attention", "norm", "gelu"})
    CHECK(fused.find_node(name));
  CHECK(fused.inputs() == g.inputs());
  CHECK(fused.outputs() == g.outputs());
  CHECK(fused.constants().empty());
  Dice dice(1);
  CHECK(largest_difference(g, fused, initial_weights(g, 1), {{"x", normals(dice, {3, 5, width})}}) <
        1e-5);
  CHECK(to_json(fused_graph(fused, tokens)) == to_json(fused));
}

TEST_CASE("fusion keeps weights with their formats, and shares constants") {
  Unfused u = transformer();
  u.weight("unused", {3, 4});
  u.g.weights[0].format = {halved(), Spec("csr"), OutFormat::dense()};
  u.g.weights[0].aliases = {"tied"};
  u.g.constants.push_back({"table", Dense::of({width}, {1, 2, 3, 4, 5, 6, 7, 8})});
  u.g.outputs = {u.node("sum", "add", {"gelu", "table"})};
  const Graph g(std::move(u.g)), fused = fused_graph(g, tokens);
  const auto weights_of = [](const Graph& of) {
    GraphParts parts;
    parts.weights = of.weights();
    return to_json(Graph(std::move(parts)));
  };
  CHECK(weights_of(fused) == weights_of(g));
  REQUIRE(fused.constants().size() == 1);
  CHECK(fused.constants()[0].value.values.bytes().data() ==
        g.constants().back().value.values.bytes().data());
}

TEST_CASE("a node with a format is not fused") {
  for (const char* name : {"squares", "ratio", "k.turned", "k.product"}) {
    CAPTURE(name);
    Unfused u = transformer();
    const auto n = std::ranges::find(u.g.nodes, name, &Node::name);
    n->formats = OutFormat::after(halved(), Spec("masked"));
    const Graph g(std::move(u.g)), fused = fused_graph(g, tokens);
    REQUIRE(fused.find_node(name));
    CHECK(fused.find_node(name)->formats.out.str() == g.find_node(name)->formats.out.str());
    Dice dice(2);
    CHECK(largest_difference(g, fused, initial_weights(g, 1),
                             {{"x", normals(dice, {2, 3, width})}}) < 1e-4);
  }
}

TEST_CASE("outputs of a fused graph can be inputs, weights, constants and removed nodes") {
  Unfused u = transformer();
  u.node("same", "reshape", {"gelu"}, to_shape({0, 0, width}));
  u.node("sum", "add", {"one", "two"});
  u.g.outputs = {"same", "x", "gamma", "one", "sum", "gelu"};
  const Graph g(std::move(u.g)), fused = fused_graph(g, tokens);
  CHECK(fused.outputs() == g.outputs());
  CHECK_FALSE(fused.find_node("sum"));
  Dice dice(3);
  CHECK(largest_difference(g, fused, initial_weights(g, 1), {{"x", normals(dice, {3, 5, width})}}) <
        1e-5);
}

TEST_CASE("convolutions of an image graph are fused with residual and relu") {
  ImageGraph images(3);
  ImageValue x = images.relu("stem.relu", images.conv("stem", images.input(), 4, 3, 2));
  ImageValue y = images.relu("up.relu", images.conv("up", x, 4, 3, 1));
  y = images.add("add", images.conv("down", y, 4, 1, 1), x);
  const Graph g = std::move(images).classifier("avgpool", "fc", images.relu("relu", y), 5, false);
  const Graph fused = fused_graph(g, {float_port("x", std::vector<GraphPort::Extent>(4))});
  CHECK(operators_of(fused) ==
        std::vector<std::string>{"conv-relu", "conv-relu", "conv-relu", "mean", "linear"});
  CHECK(fused.find_node("relu")->attributes.integer("residual", 0) == 1);
  Dice dice(4);
  CHECK(largest_difference(g, fused, initial_weights(g, 1), {{"x", normals(dice, {2, 9, 8, 3})}}) <
        1e-5);
}

TEST_CASE("a batch norm is fused with its relu and keeps its running statistics") {
  ImageGraph images(3);
  const ImageValue x = images.batch_norm("bn", images.conv("conv", images.input(), 4, 3, 1), false);
  const Graph g = std::move(images).classifier("avgpool", "fc", images.relu("relu", x), 5, false);
  const Graph fused = fused_graph(g);
  CHECK(operators_of(fused) ==
        std::vector<std::string>{"conv", "batch-moments", "batch-norm-train", "mean", "linear"});
  REQUIRE(fused.statistics().size() == 1);
  CHECK(fused.statistics()[0].moments == g.statistics()[0].moments);
  Dice dice(5);
  CHECK(largest_difference(g, fused, initial_weights(g, 1), {{"x", normals(dice, {2, 9, 8, 3})}}) <
        1e-5);
}

TEST_CASE("fusion leaves a graph with invalid node inputs unchanged") {
  for (const auto& inputs :
       {std::vector<std::string>{"x"}, {"x", "gamma", "beta"}, {"x", "wrong"}}) {
    Unfused u = transformer();
    u.weight("wrong", {width + 1});
    u.g.outputs = {u.node("last", "mul", inputs)};
    const Graph g(std::move(u.g));
    CHECK(to_json(fused_graph(g, tokens)) == to_json(g));
  }
}
