// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/onnx/import.h"

#include <doctest/doctest.h>

#include "libsten/model/graph/graph_json.h"
#include "libsten/model/nn/weights.h"
#include "tests/support/onnx_bytes.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;
namespace pb = sten::testing::onnx;

namespace {

constexpr int F32 = 1, I32 = 6, I64 = 7, F16 = 10;

struct Imported {
  TempDir dir;
  Checkpoint file;
  OnnxImport model;
  NamedValues<Tensor> weights;

  explicit Imported(const std::string& graph)
      : file(Checkpoint::open(dir.write("model.onnx", pb::model(graph)))),
        model(import_onnx(file)),
        weights(load_weights(model.graph, file, model.not_weights)) {}
  Dense run(const Tensor& x) const {
    return model.graph.run<Tensor>(weights, {{model.inputs.at(0).name, x}})
        .begin()
        ->second.to_dense();
  }
};

std::string error_with(const std::string& graph) {
  TempDir dir;
  const std::string path = dir.write("model.onnx", pb::model(graph));
  const Checkpoint file = Checkpoint::open(path);
  const std::string error = error_of([&] { import_onnx(file); });
  REQUIRE(error.starts_with(path + ": "));
  return error.substr(path.size() + 2);
}

std::string floats_of(std::string_view name, std::initializer_list<std::int64_t> dims,
                      std::initializer_list<float> values) {
  return pb::tensor(name, F32, dims, pb::bytes(9, pb::raw(values)));
}
std::string integers_of(std::string_view name, std::initializer_list<std::int64_t> dims,
                        std::initializer_list<std::int64_t> values) {
  return pb::tensor(name, I64, dims, pb::bytes(9, pb::raw(values)));
}

// relu(x w + b) with w [3, 2].
std::string layer() {
  return pb::graph({pb::node("MatMul", "/up/MatMul", {"x", "w"}, {"product"}),
                    pb::node("Add", "/up/Add", {"b", "product"}, {"sum"}),
                    pb::node("Relu", "", {"sum"}, {"y"})},
                   {floats_of("w", {3, 2}, {1, 2, 3, 4, 5, 6}), floats_of("b", {2}, {-30, 1})}) +
         pb::inputs({pb::value("x", F32, {"batch", "3"})}) +
         pb::outputs({pb::value("y", F32, {"batch", "2"})});
}

}  // namespace

TEST_CASE("import: MatMul by a weight and Add of its bias become linear with an [out, in] weight") {
  const Imported m(layer());
  const Graph& g = m.model.graph;
  REQUIRE(g.nodes().size() == 2);
  CHECK(g.nodes()[0].name == "/up/Add");
  CHECK((g.nodes()[0].op == "linear"));
  CHECK(g.nodes()[0].inputs == std::vector<std::string>{"x", "w", "b"});
  CHECK(g.nodes()[1].name == "y");
  CHECK(g.outputs() == std::vector<std::string>{"y"});
  REQUIRE(g.find_weight("w"));
  CHECK(g.find_weight("w")->shape == Shape{2, 3});
  CHECK(g.find_weight("w")->in_by_out);
  CHECK(floats(m.weights.at("w").to_dense()) == std::vector<float>{1, 3, 5, 2, 4, 6});
  CHECK(m.model.fused == std::map<std::string, Index>{{"linear", 1}});
  REQUIRE(m.model.inputs.size() == 1);
  CHECK_FALSE(m.model.inputs[0].shape->at(0).size.has_value());
  CHECK(m.model.inputs[0].shape->at(0).symbol == "batch");
  CHECK(m.model.inputs[0].shape->at(1).size == 3);
  CHECK(floats(m.run(Dense::of({2, 3}, {1, 1, 1, 2, 4, 6}))) == std::vector<float>{0, 13, 14, 57});
}

TEST_CASE("import: outputs of a graph are bit-identical after a round trip through JSON") {
  const Imported m(layer());
  const Graph back = parse_graph(to_json(m.model.graph));
  const Tensor x = Dense::of({1, 3}, {3, 2, 1});
  CHECK(same_bits(back.run<Tensor>(m.weights, {{"x", x}}).at("y").to_dense(), m.run(x)));
}

TEST_CASE("import: a weight of a MatMul that has another use is not transposed") {
  const Imported m(pb::graph({pb::node("MatMul", "a", {"x", "w"}, {"ax"}),
                              pb::node("Add", "b", {"ax", "w"}, {"y"})},
                             {floats_of("w", {2, 2}, {1, 2, 3, 4})}) +
                   pb::inputs({pb::value("x", F32, {"2", "2"})}) +
                   pb::outputs({pb::value("y", F32, {})}));
  CHECK_FALSE(m.model.graph.find_weight("w")->in_by_out);
  CHECK(m.model.fused.empty());
  CHECK(floats(m.run(Dense::of({2, 2}, {1, 0, 0, 1}))) == std::vector<float>{2, 4, 6, 8});
}

TEST_CASE("import: one-element parameters of layers are weights, a one-element factor is not") {
  const Imported m(
      pb::graph(
          {pb::node("PRelu", "", {"x", "slope"}, {"up"}),
           pb::node("Gemm", "", {"up", "w", "b"}, {"gate"}, pb::integer_attribute("transB", 1)),
           pb::node("Mul", "", {"gate", "number"}, {"scaled"}),
           pb::node("MatMul", "", {"scaled", "v"}, {"y"})},
          {floats_of("slope", {1}, {0.5}), floats_of("w", {1, 2}, {1, 2}), floats_of("b", {1}, {3}),
           floats_of("number", {1}, {2}), floats_of("v", {1, 1}, {4})}) +
      pb::inputs({pb::value("x", F32, {"batch", "2"})}) +
      pb::outputs({pb::value("y", F32, {"batch", "1"})}));
  const Graph& g = m.model.graph;
  for (const char* name : {"slope", "w", "b", "v"}) CHECK(g.find_weight(name));
  CHECK_FALSE(g.find_weight("number"));
  CHECK(floats(m.run(Dense::of({1, 2}, {-2, 1}))) == std::vector<float>{32});
}

TEST_CASE("import: an unused MatMul does not transpose a weight that has another use") {
  const Imported m(pb::graph({pb::node("MatMul", "a", {"x", "w"}, {"unused"}),
                              pb::node("MatMul", "b", {"x", "w"}, {"xw"}),
                              pb::node("Add", "c", {"xw", "w"}, {"y"})},
                             {floats_of("w", {2, 2}, {1, 2, 3, 4})}) +
                   pb::inputs({pb::value("x", F32, {"2", "2"})}) +
                   pb::outputs({pb::value("y", F32, {})}));
  CHECK_FALSE(m.model.graph.find_weight("w")->in_by_out);
  CHECK(floats(m.run(Dense::of({2, 2}, {1, 0, 0, 1}))) == std::vector<float>{2, 4, 6, 8});
}

TEST_CASE("import: shape arithmetic becomes a reshape attribute for any batch and length") {
  // [batch, length, 6] as [batch, length, 2, 3].
  const Imported m(pb::graph({pb::node("Shape", "", {"x"}, {"shape"}),
                              pb::node("Gather", "", {"shape", "zero"}, {"batch"}),
                              pb::node("Gather", "", {"shape", "one"}, {"length"}),
                              pb::node("Unsqueeze", "", {"batch", "axis"}, {"batch1"}),
                              pb::node("Unsqueeze", "", {"length", "axis"}, {"length1"}),
                              pb::node("Concat", "", {"batch1", "length1", "heads"}, {"to"},
                                       pb::integer_attribute("axis", 0)),
                              pb::node("Reshape", "", {"x", "to"}, {"y"})},
                             {integers_of("zero", {}, {0}), integers_of("one", {}, {1}),
                              integers_of("axis", {1}, {0}), integers_of("heads", {2}, {2, 3})}) +
                   pb::inputs({pb::value("x", F32, {"batch", "length", "6"})}) +
                   pb::outputs({pb::value("y", F32, {})}));
  const Graph& g = m.model.graph;
  REQUIRE(g.nodes().size() == 1);
  CHECK(g.nodes()[0].inputs == std::vector<std::string>{"x"});
  CHECK(g.nodes()[0].attributes.list("shape", {}) == Attributes::List{0, 0, 2, 3});
  CHECK(g.constants().empty());
  CHECK(g.weights().empty());
  CHECK(m.model.not_weights.size() == 4);
  for (const Index batch : {1, 3})
    for (const Index length : {2, 5})
      CHECK(m.run(Dense::zeros(DType::F32, {batch, length, 6})).extents ==
            Shape{batch, length, 2, 3});
}

TEST_CASE("import: scalars and masks are constants, other float tensors are weights") {
  const float never = -std::numeric_limits<float>::max();
  const Imported m(
      pb::graph(
          {pb::node("Add", "", {"x", "mask"}, {"a"}), pb::node("Mul", "", {"a", "half"}, {"b"}),
           pb::node("Add", "", {"b", "table"}, {"c"}),
           pb::node("Mul", "", {"c", "triangle"}, {"y"})},
          {floats_of("mask", {2, 2}, {0, never, 0, 0}), floats_of("half", {}, {0.5F}),
           floats_of("table", {2, 2}, {1, 2, 3, 4}), floats_of("triangle", {2, 2}, {1, 0, 1, 1})}) +
      pb::inputs({pb::value("x", F32, {"2", "2"})}) + pb::outputs({pb::value("y", F32, {})}));
  REQUIRE(m.model.graph.weights().size() == 1);
  CHECK(m.model.graph.weights()[0].name == "table");
  CHECK(m.model.graph.constants().size() == 3);
  CHECK(m.model.not_weights == std::vector<std::string>{"mask", "half", "triangle"});
  CHECK(m.run(Dense::of({2, 2}, {2, 2, 2, 2})).values.as<float>()[3] == 5);
}

TEST_CASE("import: outputs keep their names, including those of Split and Identity") {
  const Imported m(pb::graph({pb::node("Split", "cut", {"x"}, {"left", "right"},
                                       pb::integer_attribute("axis", 1)),
                              pb::node("Identity", "same", {"x"}, {"whole"})},
                             {}) +
                   pb::inputs({pb::value("x", F32, {"n", "4"})}) +
                   pb::outputs({pb::value("right", F32, {}), pb::value("whole", F32, {}),
                                pb::value("left", F32, {})}));
  CHECK(m.model.graph.outputs() == std::vector<std::string>{"right", "whole", "left"});
  const Tensor x = Dense::of({1, 4}, {1, 2, 3, 4});
  const auto y = m.model.graph.run<Tensor>(m.weights, {{"x", x}});
  CHECK(floats(y.at("left").to_dense()) == std::vector<float>{1, 2});
  CHECK(floats(y.at("right").to_dense()) == std::vector<float>{3, 4});
  CHECK(floats(y.at("whole").to_dense()) == std::vector<float>{1, 2, 3, 4});
}

TEST_CASE("import: Conv takes channels-first images and checks its strides") {
  const auto model = [](std::initializer_list<std::int64_t> strides) {
    return pb::graph({pb::node("Conv", "windows", {"x", "w"}, {"y"},
                               pb::integers_attribute("strides", strides))},
                     {floats_of("w", {1, 2, 1, 2}, {1, 2, 3, 4})}) +
           pb::inputs({pb::value("x", F32, {"n", "2", "1", "4"})}) +
           pb::outputs({pb::value("y", F32, {})});
  };
  const Tensor x = Dense::of({1, 2, 1, 4}, {1, 0, 1, 1, 0, 0, 1, 1});
  const Dense y = Imported(model({1, 2})).run(x);
  CHECK(y.extents == Shape{1, 1, 1, 2});
  CHECK(floats(y) == std::vector<float>{1, 10});
  CHECK(floats(Imported(model({1, 1})).run(x)) == std::vector<float>{1, 6, 10});
  CHECK(error_with(model({1})) ==
        "node 'windows' (Conv): attribute strides: expected 2 values, got [1]");
}

TEST_CASE("import: the scales of Resize are not weights") {
  const Imported m(pb::graph({pb::node("Resize", "larger", {"x", "", "scales"}, {"y"})},
                             {floats_of("scales", {4}, {1, 1, 1, 2})}) +
                   pb::inputs({pb::value("x", F32, {"n", "1", "1", "w"})}) +
                   pb::outputs({pb::value("y", F32, {})}));
  CHECK(m.model.graph.weights().empty());
  const Dense y = m.run(Dense::of({1, 1, 1, 3}, {1, 2, 3}));
  CHECK(y.extents == Shape{1, 1, 1, 6});
  CHECK(floats(y) == std::vector<float>{1, 1, 2, 2, 3, 3});
}

TEST_CASE("import: sums of 32-bit integer constants wrap around") {
  const auto most = pb::tensor("most", I32, {1}, pb::bytes(9, pb::raw<std::int32_t>({2147483647})));
  const auto two = pb::tensor("two", I32, {1}, pb::bytes(9, pb::raw<std::int32_t>({2})));
  const Imported m(
      pb::graph({pb::node("Add", "", {"most", "two"}, {"sum"}),
                 pb::node("Cast", "", {"sum"}, {"float"}, pb::integer_attribute("to", F32)),
                 pb::node("Add", "", {"x", "float"}, {"y"})},
                {most, two}) +
      pb::inputs({pb::value("x", F32, {"1"})}) + pb::outputs({pb::value("y", F32, {})}));
  CHECK(floats(m.run(Dense::of({1}, {0}))) == std::vector<float>{-2147483647.F});
}

TEST_CASE("import: Clip limits float16 values") {
  const Imported m(
      pb::graph({pb::node("Cast", "", {"x"}, {"half"}, pb::integer_attribute("to", F16)),
                 pb::node("Clip", "", {"half", "low", "high"}, {"clipped"}),
                 pb::node("Cast", "", {"clipped"}, {"y"}, pb::integer_attribute("to", F32))},
                {pb::tensor("low", F16, {}, pb::bytes(9, pb::raw<std::uint16_t>({0}))),
                 pb::tensor("high", F16, {}, pb::bytes(9, pb::raw<std::uint16_t>({0x4600})))}) +
      pb::inputs({pb::value("x", F32, {"3"})}) + pb::outputs({pb::value("y", F32, {})}));
  CHECK(floats(m.run(Dense::of({3}, {-1, 5, 7}))) == std::vector<float>{0, 5, 6});
}

TEST_CASE("import: one error lists all unsupported operators with their counts") {
  CHECK(error_with(
            pb::graph({pb::node("If", "", {"x"}, {"a"}), pb::node("MaxUnpool", "", {"a"}, {"b"}),
                       pb::node("Relu", "", {"b"}, {"c"}), pb::node("MaxUnpool", "", {"c"}, {"d"}),
                       pb::node("Relu", "", {"d"}, {"e"}, pb::bytes(7, "com.example"))},
                      {})) == "unsupported operators If, MaxUnpool (2 times), com.example:Relu");
  CHECK(error_with(pb::graph({pb::node("Loop", "", {"x"}, {"a"})}, {})) ==
        "unsupported operator Loop");
}

TEST_CASE("import: invalid graphs are rejected with an error that names the node or value") {
  const std::string in = pb::inputs({pb::value("x", F32, {"2"})}),
                    out = pb::outputs({pb::value("y", F32, {"2"})});
  CHECK(error_with(
            pb::graph({pb::node("Relu", "b", {"a"}, {"y"}), pb::node("Relu", "a", {"x"}, {"a"})},
                      {}) +
            in + out) ==
        "node 'b': input 'a' is an output of a later node: expected topological order");
  CHECK(
      error_with(
          pb::graph({pb::node("Relu", "a", {"a"}, {"a"}), pb::node("Relu", "", {"a"}, {"y"})}, {}) +
          in + out) ==
      "node 'a': input 'a' is an output of a later node: expected topological order");
  CHECK(error_with(pb::graph({pb::node("Relu", "", {"none"}, {"y"})}, {}) + in + out) ==
        "node 'y': unknown input 'none' (expected an input of the graph or an output of a node)");
  CHECK(
      error_with(
          pb::graph({pb::node("Relu", "", {"x"}, {"y"}), pb::node("Tanh", "", {"x"}, {"y"})}, {}) +
          in + out) == "duplicate output 'y'");
  CHECK(error_with(pb::graph({pb::node("Relu", "", {"x"}, {"z"})}, {}) + in + out) ==
        "output 'y' not found: expected the output of a node");
  CHECK(error_with(
            pb::graph({pb::node("Relu", "r", {"x"}, {"y"}, pb::integer_attribute("axis", 1))}, {}) +
            in + out) == "node 'r' (Relu): unsupported attribute 'axis'");
  CHECK(error_with(pb::graph({pb::node("Add", "", {"x", "three"}, {"y"})},
                             {floats_of("three", {3}, {1, 2, 3})}) +
                   in + out) == "node 'y' (Add): extents 2 and 3 at axis 0 cannot be broadcast");
  CHECK(error_with(pb::graph({pb::node("Relu", "line\nbreak", {"gone"}, {"y"})}, {}) + in + out) ==
        "node 'line\\nbreak': unknown input 'gone' (expected an input of the graph or an output "
        "of a node)");
}

TEST_CASE("import: a chain of 20,000 nodes is imported") {
  std::vector<std::string> nodes;
  std::string last = "x";
  for (int i = 0; i < 20000; ++i) {
    const std::string next = fmt::format("v{}", i);
    nodes.push_back(pb::node("Relu", "", {last}, {next}));
    last = next;
  }
  const Imported m(pb::graph(nodes, {}) + pb::inputs({pb::value("x", F32, {"2"})}) +
                   pb::outputs({pb::value(last, F32, {"2"})}));
  CHECK(m.model.graph.nodes().size() == 20000);
}
