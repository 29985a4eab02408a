// SPDX-License-Identifier: Apache-2.0
// Models as classes (modules).
#include "libsten/model/nn/layers.h"

#include <doctest/doctest.h>

#include "libsten/model/graph/dropout.h"
#include "libsten/model/graph/graph_json.h"
#include "libsten/model/graph/inference.h"
#include "libsten/model/graph/sparsity_builder.h"
#include "libsten/model/nn/mlp.h"
#include "libsten/training/optim/sgd.h"
#include "tests/support/parts.h"
#include "tests/support/temp_dir.h"

using namespace sten;
using namespace sten::testing;

namespace {

Sparsifier chosen_by(const char* spec) { return registry().sparsifier(Spec::parse(spec)); }

// The same model as mlp({8, 6, 3}).
struct Perceptron : Module {
  Child<Linear> first = child<Linear>("layers.0", 8, 6), last = child<Linear>("layers.1", 6, 3);
  Var forward(const Var& x) const { return last(named("layers.0.relu", relu(first(x)))); }
};

struct Block : Module {
  explicit Block(Index n)
      : norm(child<LayerNorm>("norm", n)),
        up(child<Linear>("up", n, 2 * n, false)),
        drop(child<Dropout>("drop", 0.5)),
        down(child<Linear>("down", 2 * n, n)) {}
  Var forward(const Var& x) const { return add(x, drop(down(gelu(up(norm(x)))))); }
  Child<LayerNorm> norm;
  Child<Linear> up;
  Child<Dropout> drop;
  Child<Linear> down;
};
struct Words : Module {
  Child<Embedding> table = child<Embedding>("table", 11, 4);
  Child<Block> a = child<Block>("a", 4), b = child<Block>("b", 4);
  const ModuleWeight& scale = weight("scale", {4}, Spec("ones"));
  Var forward(const Var& ids, const Var& shift) const {
    return mul(add(b(a(table(ids))), shift), scale);
  }
};

std::vector<std::string> weights_in(const Module& m) {
  std::vector<std::string> all;
  const Graph g = m.weights_graph();
  for (const Weight& w : g.weights()) all.push_back(w.name);
  return all;
}
Tensor ids() {
  Dense x = Dense::zeros(DType::I64, {2, 3});
  for (Index i = 0; i < 6; ++i) x.values.mutate<std::int64_t>()[i] = i;
  return x;
}

}  // namespace

TEST_CASE("a traced module has the same graph and outputs as mlp()") {
  Perceptron net;
  Dice dice(1);
  const Tensor x = normals(dice, {5, 8});
  const Graph g = trace(net, {{"x", x}}), wanted = mlp({8, 6, 3});
  CHECK(to_json(g) == to_json(wanted));
  net.initialize(3);
  CHECK(same_bits(
      wanted.run<Tensor>(initial_weights(wanted, 3), {{"x", x}}).at("layers.1").to_dense(),
      net.forward(x).value().to_dense()));
}

TEST_CASE("weights and nodes of nested modules are named by their path") {
  Words net;
  CHECK(weights_in(net) == std::vector<std::string>{"scale", "table.weight", "a.norm.weight",
                                                    "a.norm.bias", "a.up.weight", "a.down.weight",
                                                    "a.down.bias", "b.norm.weight", "b.norm.bias",
                                                    "b.up.weight", "b.down.weight", "b.down.bias"});
  net.initialize(1);
  const Tensor shift = Dense::of({4}, {1, 2, 3, 4});
  const Graph g = trace(net, {{"ids", ids()}, {"shift", shift}});
  std::vector<std::string> names;
  for (const Node& n : g.nodes()) names.push_back(n.name);
  CHECK(names == std::vector<std::string>{"table", "a.norm", "a.up", "a.gelu", "a.down", "a.drop",
                                          "a", "b.norm", "b.up", "b.gelu", "b.down", "b.drop", "b",
                                          "add", "mul"});
  CHECK(g.inputs() == std::vector<std::string>{"ids", "shift", draw_input});
  // Names for a SparsityBuilder.
  SparsityBuilder sb;
  sb.set_weight("*.up.weight", chosen_by("magnitude:sparsity=0.5"), Spec("csr"))
      .set_interm("a.gelu", OutFormat::after(chosen_by("magnitude:sparsity=0.5"), Spec("masked")));
  CHECK(sb.sparse_graph(g).find_weight("b.up.weight")->format.layout.is("csr"));
}

TEST_CASE("dropout is active and traced only in training mode") {
  Words net;
  net.initialize(1);
  const Tensor shift = Dense::of({4}, {1, 2, 3, 4});
  const auto y = [&] { return net.forward(ids(), shift).value().to_dense(); };
  CHECK(net.is_training());
  CHECK(!same_bits(y(), y()));
  const Graph trains = trace(net, {{"ids", ids()}, {"shift", shift}});
  net.eval();
  CHECK(!net.a->drop->is_training());
  CHECK(same_bits(y(), y()));
  const Graph runs = trace(net, {{"ids", ids()}, {"shift", shift}});
  CHECK(runs.find_node("a.drop") == nullptr);
  CHECK(to_json(inference_graph(trains)) == to_json(runs));
  net.train();
  CHECK(net.a->drop->is_training());
  CHECK(error_of([] { Dropout d(1); }) == "dropout: p must be in [0, 1), got 1");
}

TEST_CASE("training a module updates weights in place and keeps a csr weight's pattern") {
  Perceptron net;
  net.initialize(2);
  net.sparsify("layers.0.weight", {chosen_by("magnitude:sparsity=0.5"), Spec("csr")});
  net.sparsify("layers.1.weight",
               {chosen_by("magnitude:sparsity=0.25"), Spec("masked"),
                OutFormat::after(chosen_by("magnitude:sparsity=0.75"), Spec("masked"))});
  Dice dice(3);
  const Tensor x = normals(dice, {16, 8}), y = normals(dice, {16, 3});
  const Mask before = net.values().at("layers.0.weight").stored();
  const auto place = [&] { return net.parameters().front()->value.values()->bytes().data(); };
  const void* at = place();
  const Sgd sgd({.rate = 0.1});
  std::vector<float> losses;
  for (int step = 0; step < 20; ++step) {
    const Gradients g = gradients(net, [&] { return mse(net.forward(x), Tensor(y)); });
    CHECK(g.of.at("layers.1.weight").stored().count() <= 5);  // 18 - 0.75 * 18
    for (Parameter* p : net.parameters()) sgd.step(*p, g.of.at(p->name));
    losses.push_back(g.loss.values()->as<float>()[0]);
  }
  CHECK(losses.back() < losses.front());
  CHECK(place() == at);
  CHECK(same_mask(net.values().at("layers.0.weight").stored(), before));
  // The trace has the formats.
  const Graph g = trace(net, {{"x", x}});
  CHECK(g.find_weight("layers.0.weight")->format.layout.is("csr"));
  CHECK(g.find_weight("layers.1.weight")->format.grad.has_value());
  CHECK(has(error_of([&] { net.sparsify("layer.*", {}); }), "the nearest: 'layers.0.bias'"));
  // After a step that throws, no weight refers to the destroyed tape.
  CHECK(error_of([&] { gradients(net, [&] { return net.forward(x); }); }) != "");
  CHECK(error_of([&] { net.forward(x); }) == "");
}

TEST_CASE("a module round trips through a file with its layouts and formats") {
  const TempDir dir;
  Perceptron net, other;
  net.initialize(4);
  net.sparsify("layers.0.weight",
               {chosen_by("magnitude:sparsity=0.5"), Spec("csr"), OutFormat::dense()});
  const std::string path = dir / "net.safetensors";
  net.save(path);
  other.load(path);
  CHECK(other.values().at("layers.0.weight").layout() == "csr");
  for (const auto& [name, value] : net.values())
    CHECK(same_parts(value.save(), other.values().at(name).save()));
  CHECK(to_json(other.weights_graph()) == to_json(net.weights_graph()));
  CHECK(fault_of([&] { net.save(path); }) == Fault::usage);
  Words words;
  CHECK(has(error_of([&] { words.load(path); }), "the sparsity does not fit the graph"));
  auto values = net.values();
  values.at("layers.1.bias") = Dense::of({2}, {1, 2});
  CHECK(has(error_of([&] { net.set_values(values); }),
            "weight 'layers.1.bias' is [2], expected [3]"));
  values.erase("layers.1.bias");
  CHECK(has(error_of([&] { net.set_values(values); }), "missing weight 'layers.1.bias'"));
}
