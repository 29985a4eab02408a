// SPDX-License-Identifier: Apache-2.0
// The built-in models with sparse activations train without a fallback.
#include <doctest/doctest.h>

#include "libsten/compute/ops/common/operators.h"
#include "libsten/core/sparsify/same_pattern.h"
#include "libsten/model/graph/sparsity_builder.h"
#include "libsten/model/nn/mlp.h"
#include "tests/support/small_bert.h"

using namespace sten;
using namespace sten::testing;

namespace {

struct StrictMode {
  StrictMode() { set_strict(true); }
  ~StrictMode() { set_strict(false); }
};

struct Learned {
  NamedValues<Tensor> outputs;
  NamedValues<Tensor> gradients;
};
Learned learned(const Graph& g, const NamedValues<Tensor>& weights, const NamedValues<Tensor>& in,
                const std::string& from, const Tensor& seed) {
  Tape tape;
  const NamedValues<Var> w = tape_weights(tape, g, weights);
  NamedValues<Var> inputs;
  for (const auto& [name, x] : in) inputs.emplace(name, x);
  const NamedValues<Var> y = g.run<Var>(w, inputs);
  tape.backward(y.at(from), seed);
  Learned out;
  for (const auto& [name, v] : y) out.outputs.emplace(name, v.value());
  for (const auto& [name, v] : w)
    if (v.grad()) out.gradients.emplace(name, *v.grad());
  return out;
}

double largest_of(const Dense& x) {
  double most = 0;
  for (const float v : x.values.as<float>()) most = std::max<double>(most, std::abs(v));
  return most;
}

// The tolerance is for float32 sums in another order over a few layers. Some gradients are only
// rounding errors, such as those of the keys' biases.
void check_learned(const Learned& got, const Learned& wanted) {
  REQUIRE(got.gradients.size() == wanted.gradients.size());
  double of_all = 0;
  for (const auto& one : wanted.gradients)
    of_all = std::max(of_all, largest_of(one.second.to_dense()));
  for (const auto& one : wanted.gradients) {
    CAPTURE(one.first);
    const Dense a = got.gradients.at(one.first).to_dense(), b = one.second.to_dense();
    const double off = largest_of(sub(Tensor(a), Tensor(b)).to_dense());
    CHECK(off <= 1e-5 * std::max(largest_of(b), 1e-3 * of_all));
  }
}

const OutFormat& csr(Sparsifier by) {
  static std::map<std::string, OutFormat> all;
  const std::string name(by.name().text());
  return all.try_emplace(name, OutFormat::fused(std::move(by), Spec("csr"))).first->second;
}

// g with csr outputs of `relu` and csr gradients of `relu` and `linear`. If is_fused, `linear`
// applies the relu itself and writes csr; otherwise `relu` reads dense values.
Graph with_csr(const Graph& g, const std::string& linear, const std::string& relu, bool is_fused) {
  SparsityBuilder sb;
  sb.set_interm(relu, csr(KeepAll{})).set_interm_grad(relu, csr(SamePattern{}));
  sb.set_interm_grad(linear, csr(KeepAll{}));
  if (is_fused) sb.set_interm(linear, csr(Relu{}));
  return sb.sparse_graph(g);
}

}  // namespace

TEST_CASE("an MLP with csr ReLU outputs has the dense gradients, without a fallback") {
  const StrictMode strict;
  Dice dice(1);
  GraphParts parts = mlp({12, 40, 30, 6}).parts();
  parts.outputs.emplace_back("layers.1.relu");
  const Graph g(std::move(parts));
  const NamedValues<Tensor> w = initial_weights(g, 2), in{{"x", normals(dice, {9, 12})}};
  const Tensor dy = normals(dice, {9, 6});
  const Learned dense = learned(g, w, in, "layers.2", dy);
  for (const bool is_fused : {false, true}) {
    const Graph sparse = with_csr(g, "re:^layers\\.[01]$", "layers.*.relu", is_fused);
    const Learned got = learned(sparse, w, in, "layers.2", dy);
    CHECK(got.outputs.at("layers.1.relu").layout() == "csr");
    check_learned(got, dense);
  }
}

TEST_CASE("a BERT with csr ReLU outputs has the dense gradients, without a fallback") {
  const StrictMode strict;
  Dice dice(2);
  BertConfig config = small_bert();
  config.activation = "relu";
  const std::string inner = "bert.encoder.layer.*.intermediate.",
                    one = "bert.encoder.layer.1.intermediate.intermediate_act_fn";
  GraphParts parts = bert(config, {.mask = true}).parts();
  parts.outputs.push_back(one);
  const Graph g(std::move(parts));
  const NamedValues<Tensor> w = bert_weights(g, "dense", 3), in = bert_values(2, 10, true);
  const std::string logits = g.outputs().front();
  const Tensor dy = normals(dice, g.run<Tensor>(w, in).at(logits).shape());
  const Learned dense = learned(g, w, in, logits, dy);
  for (const bool is_fused : {false, true}) {
    const Graph sparse = with_csr(g, inner + "dense", inner + "intermediate_act_fn", is_fused);
    const Learned got = learned(sparse, w, in, logits, dy);
    CHECK(got.outputs.at(one).layout() == "csr");
    check_learned(got, dense);
  }
}
