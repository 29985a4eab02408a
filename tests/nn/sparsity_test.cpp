// SPDX-License-Identifier: Apache-2.0
// Sparse modules, saved and loaded.
#include <doctest/doctest.h>

#include "libsten/model/graph/graph_json.h"
#include "libsten/model/graph/sparsity_builder.h"
#include "libsten/model/nn/bert.h"
#include "libsten/model/nn/mlp.h"
#include "libsten/model/nn/weights.h"
#include "tests/support/strict.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

Sparsifier by(const char* spec) { return registry().sparsifier(Spec::parse(spec)); }

struct Ran {
  NamedValues<Tensor> y;
  std::vector<std::string> plans;
};
Ran ran(const Graph& g, const NamedValues<Tensor>& w, const NamedValues<Tensor>& in) {
  Ran r;
  Operators::log_plans(&r.plans);
  r.y = g.run<Tensor>(w, in);
  Operators::log_plans(nullptr);
  return r;
}

// Checks that a saved and loaded model gives the same results with the same implementations.
void check_round_trip(const Graph& dense, const SparsityBuilder& sb,
                      const NamedValues<Tensor>& in) {
  const TempDir dir;
  const Graph sparse = sb.sparse_graph(dense);
  const NamedValues<Tensor> w = sparse_weights(sparse, initial_weights(dense, 3));
  const Strict strict;
  const Ran before = ran(sparse, w, in);
  save_weights(sparse, w, dir / "model.safetensors");
  const Checkpoint file = Checkpoint::open(dir / "model.safetensors");
  const Graph back = load_sparsity(dense, file);
  CHECK(to_json(back) == to_json(sparse));
  const Ran after = ran(back, load_weights(back, file), in);
  CHECK(after.plans == before.plans);
  for (const auto& y : before.y) {
    const std::string name = y.first;
    CAPTURE(name);
    CHECK(after.y.at(name).layout() == y.second.layout());
    CHECK(same_bits(after.y.at(name).to_dense(), y.second.to_dense()));
  }
}

}  // namespace

TEST_CASE("a saved and loaded sparse MLP has bit-identical outputs and the same plans") {
  SparsityBuilder sb;
  sb.set_weight("layers.0.weight", by("magnitude:sparsity=0.75"), Spec("csr"))
      .set_weight("layers.1.weight", by("nmg:n=1,m=4,g=2"), Spec::parse("nmg:n=1,m=4,g=2"))
      .set_interm("layers.0", OutFormat::fused(by("threshold:at=0.1"), Spec("dense")))
      .set_weight_grad("layers.0.weight", OutFormat::dense())
      .set_interm_grad("layers.0", OutFormat::after(by("magnitude:sparsity=0.5"), Spec("dense")));
  Dice dice(4);
  check_round_trip(mlp({12, 8, 4}), sb, {{"x", normals(dice, {5, 12})}});
}

TEST_CASE("a saved and loaded graph with csr activations has bit-identical outputs") {
  const Graph g(
      {{"x"},
       {{"w", {8, 12}, Spec::parse("normal:std=1")}, {"v", {8, 4}, Spec::parse("normal:std=1")}},
       {{"h", "linear", {"x", "w"}}, {"y", "matmul", {"h", "v"}}},
       {"y", "h"}});
  SparsityBuilder sb;
  sb.set_weight("w", by("magnitude:sparsity=0.75"), Spec("csr"))
      .set_interm("h", OutFormat::fused(by("relu"), Spec("csr")));
  Dice dice(4);
  check_round_trip(g, sb, {{"x", normals(dice, {5, 12})}});
}

TEST_CASE("a saved and loaded sparse BERT has bit-identical outputs and the same plans") {
  BertConfig c;
  c.vocab_size = 11, c.hidden_size = 8, c.num_hidden_layers = 2, c.num_attention_heads = 2;
  c.intermediate_size = 16, c.max_position_embeddings = 6;
  SparsityBuilder sb;
  sb.set_weight("bert.encoder.*.dense.weight", by("nmg:n=2,m=4,g=1"),
                Spec::parse("nmg:n=2,m=4,g=1"))
      .set_weight("re:.*[.](query|key|value)[.]weight", by("magnitude:sparsity=0.5"), Spec("csr"))
      .set_interm("bert.encoder.*.intermediate_act_fn",
                  OutFormat::after(by("magnitude:sparsity=0.5"), Spec("dense")));
  Dense ids = Dense::zeros(DType::I64, {2, 6});
  for (Index i = 0; i < 12; ++i) ids.values.mutate<std::int64_t>()[i] = (3 * i) % 11;
  check_round_trip(bert(c), sb, bert_inputs(ids));
}

TEST_CASE("a dense graph saves no formats, and a file without formats loads it unchanged") {
  const TempDir dir;
  const Graph g = mlp({4, 2});
  save_weights(g, initial_weights(g, 1), dir / "m");
  const Checkpoint file = Checkpoint::open(dir / "m");
  for (const auto& entry : file.shards().at(0).metadata) CHECK(entry.first != formats_key);
  CHECK(to_json(load_sparsity(g, file)) == to_json(g));
}

TEST_CASE("formats that do not fit the graph are rejected as an error of the file") {
  const TempDir dir;
  const Graph g = mlp({4, 2});
  const auto load = [&](const std::string& formats) {
    save_weights(g, initial_weights(g, 1), dir / "m", true, {{formats_key, formats}});
    return load_sparsity(g, Checkpoint::open(dir / "m"));
  };
  CHECK(error_of([&] { load("{"); }).empty());  // the formats of the graph are saved instead
  const Graph sparse =
      SparsityBuilder().set_weight("layers.0.*", by("relu"), Spec("csr")).sparse_graph(g);
  save_weights(sparse, initial_weights(g, 1), dir / "m", true, {{formats_key, "{"}});
  const Checkpoint file = Checkpoint::open(dir / "m");
  const auto other = [&] { load_sparsity(Graph({{}, {{"w", {1}}}, {}, {}}), file); };
  CHECK(fault_of(other) == Fault::input);
  CHECK(error_of(other) ==
        file.name() +
            ": the sparsity does not fit the graph:"
            "\n  set_weight 'layers.0.weight' matches none of the 1 weights; the nearest: 'w'"
            "\n  set_weight 'layers.0.bias' matches none of the 1 weights; the nearest: 'w'");
}
