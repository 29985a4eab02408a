// SPDX-License-Identifier: Apache-2.0
// Masks of exporters in decomposed attention.
#include <doctest/doctest.h>

#include "libsten/model/graph/graph.h"
#include "libsten/model/onnx/import.h"
#include "tests/support/onnx_bytes.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;
namespace pb = sten::testing::onnx;

namespace {

constexpr int type_f32 = 1, type_i64 = 7, type_bool = 9;

std::string numbers_of(std::string_view name, std::initializer_list<std::int64_t> values) {
  return pb::tensor(name, type_i64, {std::ssize(values)}, pb::bytes(9, pb::raw(values)));
}
std::string number_of(std::string_view name, float x) {
  return pb::tensor(name, type_f32, {}, pb::bytes(9, pb::raw({x})));
}

// softmax(q k^T / 2) v with q = k = v = x [batch, tokens, 8] in 2 heads of 4 channels. `masking`
// computes "masked" from "scaled" and the input "mask".
OnnxImport attention_with(const std::vector<std::string>& masking,
                          const std::vector<std::string>& initializers, const std::string& mask) {
  const auto order = [](std::initializer_list<std::int64_t> axes) {
    return pb::integers_attribute("perm", axes);
  };
  std::vector<std::string> nodes{pb::node("Reshape", "", {"x", "parted"}, {"heads"}),
                                 pb::node("Transpose", "", {"heads"}, {"q"}, order({0, 2, 1, 3})),
                                 pb::node("Transpose", "", {"heads"}, {"k"}, order({0, 2, 3, 1})),
                                 pb::node("MatMul", "", {"q", "k"}, {"products"}),
                                 pb::node("Div", "", {"products", "two"}, {"scaled"})};
  nodes.insert(nodes.end(), masking.begin(), masking.end());
  nodes.push_back(
      pb::node("Softmax", "", {"masked"}, {"weights"}, pb::integer_attribute("axis", -1)));
  nodes.push_back(pb::node("MatMul", "", {"weights", "q"}, {"context"}));
  nodes.push_back(pb::node("Transpose", "", {"context"}, {"turned"}, order({0, 2, 1, 3})));
  nodes.push_back(pb::node("Reshape", "", {"turned", "joined"}, {"y"}));
  std::vector<std::string> all{numbers_of("parted", {0, 0, 2, 4}), numbers_of("joined", {0, 0, 8}),
                               number_of("two", 2)};
  all.insert(all.end(), initializers.begin(), initializers.end());
  TempDir dir;
  const std::string path = dir.write(
      "m.onnx", pb::model(pb::graph(nodes, all) +
                          pb::inputs({pb::value("x", type_f32, {"batch", "tokens", "8"}), mask}) +
                          pb::outputs({pb::value("y", type_f32, {"batch", "tokens", "8"})})));
  return import_onnx(Checkpoint::open(path));
}

Index count_nodes(const Graph& g, std::string_view op) {
  Index n = 0;
  for (const Node& node : g.nodes()) n += node.op.text() == op;
  return n;
}

// The visible keys of each query: none after the query, and only the first 4 in the second
// sequence.
Dense seen_by(Index batch, Index tokens) {
  Dense seen = Dense::zeros(DType::BOOL, {batch, 1, tokens, tokens});
  for (Index i = 0; i < seen.size(); ++i) {
    const Index key = i % tokens, query = i / tokens % tokens, b = i / tokens / tokens;
    seen.values.mutate_bytes()[i] = std::byte(key <= query && (b == 0 || key < 4));
  }
  return seen;
}

Tensor composed(const Tensor& x, const Dense& seen, double least) {
  const Shape s = x.shape();
  const Tensor q = transpose(reshape(x, {s[0], s[1], 2, 4}), {0, 2, 1, 3});
  Dense bias = Dense::zeros(DType::F32, seen.extents);
  for (Index i = 0; i < bias.size(); ++i)
    bias.values.mutate<float>()[i] =
        seen.values.bytes()[i] == std::byte{0} ? static_cast<float>(least) : 0;
  const Tensor weights = softmax(add(scale(matmul(q, transpose(q)), 0.5), Tensor(bias)));
  return reshape(transpose(matmul(weights, q), {0, 2, 1, 3}), s);
}

double most_apart(const Tensor& a, const Tensor& b) {
  const std::vector<float> x = floats(a.to_dense()), y = floats(b.to_dense());
  REQUIRE(x.size() == y.size());
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(double{x[i]} - y[i]));
  return most;
}

}  // namespace

TEST_CASE("fuse: a Where mask becomes an attention bias only if its fill value is very low") {
  for (const float least : {std::numeric_limits<float>::lowest(), -INFINITY, -100.0F}) {
    CAPTURE(least);
    const OnnxImport m =
        attention_with({pb::node("Where", "", {"mask", "scaled", "least"}, {"masked"})},
                       {number_of("least", least)},
                       pb::value("mask", type_bool, {"batch", "1", "tokens", "tokens"}));
    // A score replaced by -100 can still affect the softmax.
    const bool is_low = least < -1e30F;
    CHECK(count_nodes(m.graph, "attention") == is_low);
    CHECK(count_nodes(m.graph, "softmax") == !is_low);
    if (!is_low) continue;
    for (const Index tokens : {5, 40}) {
      Dice dice(3);
      const Tensor x = normals(dice, {2, tokens, 8});
      const Dense seen = seen_by(2, tokens);
      const Tensor y = m.graph.run<Tensor>({}, {{"x", x}, {"mask", seen}}).at("y");
      CHECK(most_apart(y, composed(x, seen, least)) < 2e-6);
    }
  }
}

TEST_CASE("fuse: attention takes a key mask without its Expand over queries") {
  const std::string mask = pb::value("mask", type_f32, {"batch", "1", "1", "tokens"});
  std::vector<std::string> masking{pb::node("Shape", "", {"scaled"}, {"all"}),
                                   pb::node("Slice", "", {"all", "zero", "one"}, {"batches"}),
                                   pb::node("Slice", "", {"all", "end", "last"}, {"queries"}),
                                   pb::node("Concat", "", {"batches", "one", "queries", "queries"},
                                            {"to"}, pb::integer_attribute("axis", 0)),
                                   pb::node("Expand", "", {"mask", "to"}, {"rows"}),
                                   pb::node("Sub", "", {"unit", "rows"}, {"hidden"}),
                                   pb::node("Mul", "", {"hidden", "least"}, {"bias"}),
                                   pb::node("Add", "", {"scaled", "bias"}, {"masked"})};
  const std::vector<std::string> numbers{number_of("unit", 1),    number_of("least", -1e30F),
                                         numbers_of("zero", {0}), numbers_of("one", {1}),
                                         numbers_of("end", {2}),  numbers_of("last", {3})};
  const OnnxImport m = attention_with(masking, numbers, mask);
  CHECK(count_nodes(m.graph, "attention") == 1);
  CHECK(count_nodes(m.graph, "expand") == 0);
  Dice dice(3);
  const Tensor x = normals(dice, {2, 40, 8});
  Dense keys = Dense::zeros(DType::F32, {2, 1, 1, 40}), seen = seen_by(2, 40);
  for (Index i = 0; i < 80; ++i) keys.values.mutate<float>()[i] = i < 70;
  for (Index i = 0; i < seen.size(); ++i)
    seen.values.mutate_bytes()[i] = std::byte(i / 1600 == 0 || i % 40 < 30);
  const Tensor y = m.graph.run<Tensor>({}, {{"x", x}, {"mask", keys}}).at("y");
  CHECK(most_apart(y, composed(x, seen, -1e30)) < 2e-6);
}
