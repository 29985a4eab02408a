// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/graph/graph_json.h"

#include <doctest/doctest.h>

#include <bit>
#include <cstring>

#include "libsten/core/sparsify/streaming.h"
#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

Graph every_kind() {
  const Formats formats({sparsifier("threshold:at=0.5"), Spec("csr"),
                         sparsifier("magnitude:sparsity=0.75"), Spec::parse("bcsr:h=2,w=2")},
                        OutFormat::fused(sparsifier("relu"), Spec("masked")));
  Attributes attributes;
  attributes.set("axes", Attributes::List{1, -2}).set("keep", 1);
  const WeightFormat sparse{sparsifier("magnitude:sparsity=0.5"), Spec("csr"), formats.out},
      dense_gradient{KeepAll{}, Spec("dense"), OutFormat::dense()};
  return Graph({{"x", "i/~\"d"},
                {{"w", {3, 4}, Spec::parse("normal:std=0.02"), {"tied", "tied.too"}, sparse},
                 {"b", {3}, Spec("zeros"), {}, dense_gradient, false, {{"all", {2, 3}, 3}}}},
                {{"y", "linear", {"x", "w", "b"}, {}, formats},
                 {"z", "layer-norm", {"y", "b", "b"}, Attributes().set("eps", 1.0)},
                 {"s", "sum", {"z"}, attributes}},
                {"s", "y"}});
}

std::string error(const std::string& json) {
  return error_of([&] { parse_graph(json); });
}

}  // namespace

TEST_CASE("a graph survives the round trip through JSON") {
  const Graph g = every_kind(), back = parse_graph(to_json(g));
  CHECK(back.inputs() == g.inputs());
  REQUIRE(back.weights().size() == g.weights().size());
  for (std::size_t i = 0; i < g.weights().size(); ++i) {
    const Weight &a = g.weights()[i], &b = back.weights()[i];
    CHECK(b.name == a.name);
    CHECK(b.shape == a.shape);
    CHECK(b.init == a.init);
    CHECK(b.aliases == a.aliases);
    REQUIRE(b.stacked_in.size() == a.stacked_in.size());
    for (std::size_t k = 0; k < a.stacked_in.size(); ++k) {
      CHECK(b.stacked_in[k].tensor == a.stacked_in[k].tensor);
      CHECK(b.stacked_in[k].shape == a.stacked_in[k].shape);
      CHECK(b.stacked_in[k].first == a.stacked_in[k].first);
    }
    CHECK(b.format.initial.spec() == a.format.initial.spec());
    CHECK(b.format.layout == a.format.layout);
    REQUIRE(b.format.grad.has_value() == a.format.grad.has_value());
    if (a.format.grad) CHECK(b.format.grad->str() == a.format.grad->str());
  }
  CHECK(back.outputs() == g.outputs());
  REQUIRE(back.nodes().size() == g.nodes().size());
  for (std::size_t i = 0; i < g.nodes().size(); ++i) {
    const Node &a = g.nodes()[i], &b = back.nodes()[i];
    CHECK(b.name == a.name);
    CHECK((b.op == a.op));
    CHECK(b.inputs == a.inputs);
    CHECK((b.attributes == a.attributes));
    CHECK(b.formats.out.str() == a.formats.out.str());
    CHECK(b.formats.grad.str() == a.formats.grad.str());
  }
  CHECK(to_json(back) == to_json(g));
}

TEST_CASE("constants are bit-identical after a round trip through JSON") {
  Dense ids = Dense::zeros(DType::I64, {2, 1}), none = Dense::zeros(DType::BOOL, {0});
  ids.values.mutate<std::int64_t>()[1] = -100;
  const float nan = std::bit_cast<float>(0x7fc01234u);
  const Graph g({{"x"},
                 {{"w", {2, 2}, Spec("zeros"), {}, {}, true}},
                 {{"y", "mul", {"x", "c"}}},
                 {"y"},
                 {{"c", Dense::of({1, 2}, {nan, -0.0F})}, {"ids", ids}, {"none", none}}});
  const std::string text = to_json(g);
  const Graph back = parse_graph(text);
  REQUIRE(back.constants().size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(back.constants()[i].name == g.constants()[i].name);
    CHECK(same_bits(back.constants()[i].value, g.constants()[i].value));
  }
  CHECK(back.weights()[0].in_by_out);
  CHECK(to_json(back) == text);
  const auto changed = [&](const char* from, const char* to) {
    return error(std::string(text).replace(text.find(from), std::strlen(from), to));
  };
  CHECK(changed("3412c07f", "3412c0") ==
        "graph: /constants/0/bytes: expected two digits for each byte of [1, 2], got 14 digits");
  CHECK(changed("3412c07f", "3412c0zz") ==
        "graph: /constants/0/bytes: expected hexadecimal digits");
  CHECK(changed("\"F32\"", "\"F31\"") == "graph: /constants/0/dtype: unknown data type 'F31'");
}

TEST_CASE("weights without a format in a graph's JSON are read as dense") {
  const Graph g = parse_graph(
      R"({"inputs": ["x"], "weights": [{"name": "w", "shape": [2, 2], "init": "zeros"}],
          "nodes": [{"name": "y", "op": "linear", "inputs": ["x", "w"]}], "outputs": ["y"]})");
  CHECK(g.find_weight("w")->format.is_dense());
  CHECK_FALSE(g.find_weight("w")->format.grad.has_value());
  CHECK(to_json(g).find("format") == std::string::npos);
}

TEST_CASE("writing a graph as JSON rejects sparsifiers that are not in the registry") {
  GraphParts parts = every_kind().parts();
  parts.nodes[0].formats = Formats(OutFormat::fused(Threshold{0.5}, Spec("csr")));
  CHECK(error_of([&] { to_json(Graph(parts)); }) ==
        "node 'y': sparsifier threshold has no text: expected one of the registry");
  parts = every_kind().parts();
  parts.weights[1].format.initial = Threshold{0.5};
  CHECK(error_of([&] { to_json(Graph(parts)); }) ==
        "weight 'b': sparsifier threshold has no text: expected one of the registry");
}

TEST_CASE("errors in a graph's JSON name the location") {
  const std::string ends = R"(, "weights": [], "outputs": []})";
  CHECK(error("{") == "graph: not JSON at line 1, column 2");
  CHECK(error("[]") == "graph: expected an object, got a list");
  CHECK(error(R"({"inputs": [])" + ends) == "graph: missing 'nodes'");
  CHECK(error(R"({"inputs": [], "inputs": []})") == "graph: duplicate key 'inputs'");
  CHECK(error(R"({"node": [])" + ends) == "graph: /node: unknown key, did you mean 'nodes'?");
  CHECK(error(R"({"inputs": [3], "nodes": [])" + ends) ==
        "graph: /inputs/0: expected a string, got 3");
  const auto with_node = [&](const std::string& rest) {
    return error(R"({"inputs": ["x"], "nodes": [{"name": "y", "op": "relu", "inputs": ["x"])" +
                 rest + "}]" + ends);
  };
  CHECK(with_node("") == "");
  CHECK(with_node(R"(, "attributes": {"p": [1, 0.5]})") ==
        "graph: /nodes/0/attributes/p/1: expected an integer, got 0.5");
  CHECK(
      with_node(R"(, "format": {"layout": "cs"})")
          .starts_with("graph: /nodes/0/format/layout: unknown layout 'cs', did you mean 'csc'?"));
  CHECK(with_node(R"(, "format": {"lay/out": "csr"})")
            .starts_with("graph: /nodes/0/format/lay~1out: unknown key"));
  CHECK(with_node(R"(, "gradient": {"inline": "threshold"})")
            .starts_with("graph: /nodes/0/gradient/inline: "));
  CHECK(error(R"({"inputs": ["x", "x"], "nodes": [])" + ends) ==
        "graph: the graph has the name 'x' twice");
  CHECK(error(std::string(65, '[')) == "graph: nested too deeply");
}
