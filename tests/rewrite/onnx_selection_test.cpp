// SPDX-License-Identifier: Apache-2.0
// The default selection on ONNX models: the graph decides, not the names.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "libsten/programs/rewrite/default_selection.h"
#include "tests/support/onnx_bytes.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;
namespace pb = sten::testing::onnx;

namespace {

const std::string exports = STEN_SOURCE_DIR "/tests/onnx/models/";

std::string matrix(std::string_view name) {
  return pb::tensor(name, 1, {2, 2}, pb::bytes(9, pb::raw<float>({1, 2, 3, 4})));
}

std::string float_value(std::string_view name) { return pb::value(name, 1, {"n", "2"}); }

std::string graph_of(const std::vector<std::string>& nodes, const std::vector<std::string>& weights,
                     const std::vector<std::string>& outputs) {
  std::vector<std::string> tensors, values;
  for (const std::string& w : weights) tensors.push_back(matrix(w));
  for (const std::string& o : outputs) values.push_back(float_value(o));
  return pb::graph(nodes, tensors) + pb::inputs({float_value("x")}) + pb::outputs(values);
}

// The names that are skipped for this reason.
std::vector<std::string> left(const std::string& path, SkipReason reason) {
  const Checkpoint c = Checkpoint::open(path);
  const std::vector<SkipReason> why = skip_reasons(c);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < why.size(); ++i)
    if (why[i] == reason) names.push_back(c.tensors()[i].name);
  return names;
}

std::vector<std::string> heads(const std::string& graph) {
  const TempDir dir;
  return left(dir.write("m.onnx", pb::model(graph)), SkipReason::head);
}

using Names = std::vector<std::string>;

std::string product(std::string_view x, std::string_view w, std::string_view y) {
  return pb::node("MatMul", "", {x, w}, {y});
}

}  // namespace

TEST_CASE("onnx selection: a model has the same number of layers and heads from every exporter") {
  struct Known {
    const char* model;
    Index selected, heads, embeddings;
  };
  for (const Known& k : std::initializer_list<Known>{{"bert", 13, 1, 3},
                                                     {"distilbert", 13, 1, 2},
                                                     {"gpt2", 8, 1, 2},
                                                     {"mlp", 2, 1, 0},
                                                     {"roberta", 13, 1, 3},
                                                     {"vit", 13, 1, 0},
                                                     {"wav2vec2", 16, 1, 0}})
    for (const char* exporter : {"opset14", "opset17", "dynamo18"}) {
      CAPTURE(k.model);
      CAPTURE(exporter);
      const std::string file = exports + k.model + "-" + exporter + ".onnx";
      if (!std::filesystem::exists(file)) continue;  // only three models have opset 14
      const std::vector<SkipReason> why = skip_reasons(Checkpoint::open(file));
      CHECK(std::ranges::count(why, SkipReason::no) == k.selected);
      CHECK(std::ranges::count(why, SkipReason::head) == k.heads);
      CHECK(std::ranges::count(why, SkipReason::embedding) == k.embeddings);
    }
}

TEST_CASE("onnx selection: the last product before an output is a head") {
  CHECK(heads(graph_of({product("x", "w1", "a"), pb::node("Relu", "", {"a"}, {"b"}),
                        product("b", "w2", "c"), pb::node("Softmax", "", {"c"}, {"y"})},
                       {"w1", "w2"}, {"y"})) == Names{"w2"});
  // Each output has one.
  CHECK(heads(graph_of({product("x", "w1", "a"), product("a", "w2", "y"), product("a", "w3", "z")},
                       {"w1", "w2", "w3"}, {"y", "z"})) == Names{"w2", "w3"});
  // A graph without outputs has no known head, nor has a product without consumers.
  CHECK(heads(graph_of({product("x", "w1", "a")}, {"w1"}, {})).empty());
  CHECK(heads(graph_of({product("x", "w1", "a"), product("x", "w2", "y")}, {"w1", "w2"}, {"y"})) ==
        Names{"w2"});
  // Keys of a cache are an output, and go into attention too.
  CHECK(heads(graph_of({product("x", "k", "key"), product("x", "key", "a"), product("a", "w", "y")},
                       {"k", "w"}, {"y", "key"})) == Names{"w"});
  // The last layer of a network that ends in a residual is not a head.
  CHECK(heads(graph_of({product("x", "w1", "a"), product("a", "w2", "b"),
                        pb::node("Add", "", {"b", "a"}, {"c"}),
                        pb::node("LayerNormalization", "", {"c", "s"}, {"y"})},
                       {"w1", "w2"}, {"y"}))
            .empty());
  // A bias, and the input of the model, are not residuals.
  CHECK(heads(graph_of({product("x", "w1", "a"), product("a", "w2", "b"),
                        pb::node("Add", "", {"b", "x"}, {"y"})},
                       {"w1", "w2"}, {"y"})) == Names{"w2"});
}

TEST_CASE("onnx selection: products that give RoiAlign boxes or Gather indices are heads") {
  CHECK(heads(graph_of({product("x", "w1", "f"), product("f", "boxes", "b"),
                        pb::node("RoiAlign", "", {"f", "b", "i"}, {"r"}),
                        product("r", "scores", "s"), pb::node("TopK", "", {"s", "k"}, {"v", "j"}),
                        pb::node("Gather", "", {"b", "j"}, {"y"})},
                       {"w1", "boxes", "scores"}, {"y"})) == Names{"boxes", "scores"});
}

TEST_CASE("onnx selection: the search for heads includes subgraphs of If and Loop") {
  const auto branch = [](std::string_view y) {
    return pb::bytes(1, product("h", "head", y)) + pb::bytes(2, "branch") +
           pb::bytes(12, float_value(y));
  };
  const auto graph_attribute = [](std::string_view name, const std::string& g) {
    return pb::bytes(5, pb::bytes(1, name) + pb::bytes(6, g) + pb::number(20, 5));
  };
  CHECK(heads(graph_of({product("x", "w", "h"),
                        pb::node("If", "", {"c"}, {"z"},
                                 graph_attribute("then_branch", branch("y1")) +
                                     graph_attribute("else_branch", branch("y2"))),
                        pb::node("Sigmoid", "", {"z"}, {"y"})},
                       {"w", "head"}, {"y"})) == Names{"head"});
  // A state that a loop carries into its next iteration is hidden.
  const std::string body = pb::bytes(1, product("s", "step", "t")) + pb::bytes(2, "body") +
                           pb::inputs({float_value("i"), float_value("go"), float_value("s")}) +
                           pb::outputs({float_value("go"), float_value("t")});
  CHECK(heads(graph_of({pb::node("Loop", "", {"n", "c", "x"}, {"z"}, graph_attribute("body", body)),
                        product("z", "head", "y")},
                       {"step", "head"}, {"y"})) == Names{"head"});
  // The maximum nesting of a file.
  std::string deep = branch("y");
  for (int k = 0; k < 20; ++k)
    deep = pb::bytes(1, pb::node("If", "", {"c"}, {"y"}, graph_attribute("then_branch", deep))) +
           pb::bytes(12, float_value("y"));
  const TempDir dir;
  const std::string path = dir.write("m.onnx", pb::model(deep));
  CHECK(error_of([&] { (void)Checkpoint::open(path); }).find("nested more than 16 deep") !=
        std::string::npos);
}

TEST_CASE("onnx selection: tied copies of an embedding, and weights behind Identity and Cast") {
  const TempDir dir;
  const std::string transposed =
      pb::tensor("head", 1, {2, 3}, pb::bytes(9, pb::raw<float>({1, 3, 5, 2, 4, 6})));
  const std::string table =
      pb::tensor("table", 1, {3, 2}, pb::bytes(9, pb::raw<float>({1, 2, 3, 4, 5, 6})));
  // Its result is an input of a product, so the graph does not mark it as a head.
  const std::string path =
      dir.write("m.onnx", pb::model(pb::graph({pb::node("Gather", "", {"table", "x"}, {"a"}),
                                               product("a", "head", "b"), product("b", "w", "y")},
                                              {table, transposed, matrix("w")}) +
                                    pb::outputs({float_value("y")})));
  CHECK(left(path, SkipReason::tied) == Names{"head"});
  CHECK(left(path, SkipReason::head) == Names{"w"});
  CHECK(heads(graph_of({pb::node("Identity", "", {"w1"}, {"v1"}), product("x", "v1", "a"),
                        pb::node("Cast", "", {"w2"}, {"v2"}), product("a", "v2", "y")},
                       {"w1", "w2"}, {"y"})) == Names{"w2"});
}

TEST_CASE("onnx selection: weights with generated names get module names from the graph") {
  const TempDir dir;
  const std::string scopes =
      pb::bytes(9, pb::bytes(1, "pkg.torch.onnx.name_scopes") +
                       pb::bytes(2, "['', 'model', 'model.lm_head', 'linear_9']"));
  const std::string path = dir.write(
      "m.onnx",
      pb::model(pb::graph({pb::node("MatMul", "/enc/0/query/MatMul", {"x", "w0"}, {"a"}),
                           pb::node("MatMul", "node_MatMul_1", {"a", "w1"}, {"b"}),
                           pb::node("Add", "", {"enc.1.dense.bias", "b"}, {"c"}),
                           pb::node("Gemm", "g", {"c", "w2", "enc.2.bias"}, {"d"}),
                           pb::node("MatMul", "m", {"d", "w3"}, {"y"}, scopes),
                           pb::node("MatMul", "m", {"d", "w4"}, {"z"})},
                          {matrix("w0"), matrix("w1"), matrix("w2"), matrix("w3"), matrix("w4"),
                           matrix("enc.1.dense.bias"), matrix("enc.2.bias")})));
  const Checkpoint c = Checkpoint::open(path);
  CHECK(c.find("w0")->module == "enc.0.query.weight");
  CHECK(c.find("w1")->module == "enc.1.dense.weight");
  CHECK(c.find("w2")->module == "enc.2.weight");
  CHECK(c.find("w3")->module == "model.lm_head.weight");
  CHECK(c.find("w4")->module.empty());
}
