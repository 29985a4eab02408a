// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>

#include "libsten/compute/ops/elementwise/in_place.h"
#include "libsten/core/tensor/access.h"
#include "libsten/model/graph/graph_json.h"
#include "libsten/model/graph/sparsity_builder.h"
#include "libsten/model/nn/layers.h"
#include "libsten/model/nn/mlp.h"
#include "libsten/training/optim/adamw.h"
#include "tests/support/strict.h"
#include "tests/support/temp_dir.h"

namespace {

using namespace sten;

Sparsifier by(const char* spec) { return registry().sparsifier(Spec::parse(spec)); }

// Numbers to begin with.
Tensor waves(const Shape& shape, double step) {
  Dense x = Dense::zeros(DType::F32, shape);
  for (Index i = 0; i < x.size(); ++i)
    x.values.mutate<float>()[i] = static_cast<float>(std::sin(step * static_cast<double>(i + 1)));
  return x;
}
// Positions that both store.
Index common(const Tensor& a, const Mask& b) {
  const Mask m = a.stored();
  Index n = 0;
  for (Index i = 0; i < m.size(); ++i) n += m[i] && b[i];
  return n;
}

struct Classifier : Module {
  Child<Linear> hidden = child<Linear>("hidden", 64, 32), out = child<Linear>("out", 32, 10);
  Child<Dropout> drop = child<Dropout>("drop", 0.1);
  Var forward(const Var& x) const { return out(drop(relu(hidden(x)))); }
};

}  // namespace

TEST_CASE("two layers with a sparse weight and sparse activations learn without a dense fallback") {
  const Tensor x = waves({32, 8}, 1.7), y = waves({32, 4}, 0.3);
  double first = 0, last = 0;
  const testing::Strict strict;
  Parameter w("w", sparsify(waves({16, 8}, 2.1), by("magnitude:sparsity=0.5"), Spec("csr")));
  Parameter v("v", waves({16, 4}, 0.9));
  const Mask before = w.value.stored();
  // The hidden layer: what relu keeps is written as csr, and of its gradient the larger half stays.
  const Formats hidden(OutFormat::fused(by("relu"), Spec("csr")),
                       OutFormat::after(by("magnitude:sparsity=0.5"), Spec("dense")));
  const AdamW adam({.rate = 0.02});
  for (int step = 0; step < 100; ++step) {
    Tape tape;
    const Var a = tape.parameter(w.value);  // its gradient has its positions, and its layout
    const Var b = tape.parameter(v.value);
    const Var h = linear(Var(x), a, hidden);
    const Var loss = mse(matmul(h, b), y);
    tape.backward(loss);
    adam.step(w, *a.grad());
    adam.step(v, *b.grad());
    last = number(loss.value());
    if (step == 0) first = last;
  }
  CHECK(last < first / 2);
  CHECK(w.value.layout() == "csr");
  CHECK(w.value.stored().count() == 64);
  CHECK(common(w.value, before) == 64);
}

TEST_CASE("a linear layer with a sparse relu output has the weight gradient of its sparse graph") {
  const testing::Strict strict;
  const Tensor x = waves({32, 8}, 1.7);
  Tape tape;
  const Var a = tape.parameter(waves({16, 8}, 2.1)), b = tape.parameter(waves({16}, 0.7)),
            c = tape.parameter(waves({4, 16}, 0.9)), d = tape.parameter(waves({4}, 0.2));
  const OutFormat fused_format = OutFormat::fused(by("same-pattern"), Spec("csr"));
  const Formats hidden(OutFormat::fused(by("relu"), Spec("csr")), fused_format);
  const Var h = linear(Var(x), a, b, hidden);  // of relu(x a^T + b), what is above 0
  const Var z = linear(h, c, d);
  CHECK(h.value().layout() == "csr");
  tape.backward(z, waves({32, 4}, 0.4));
  const Tensor learned = *a.grad();
  SparsityBuilder sb;
  const OutFormat kept = OutFormat::fused(by("keep-all"), Spec("csr"));
  sb.set_interm("layers.0", OutFormat::fused(by("relu"), Spec("csr")))
      .set_interm_grad("layers.0", kept)
      .set_interm("layers.0.relu", kept)
      .set_interm_grad("layers.0.relu", fused_format);
  const Graph sparse = sb.sparse_graph(mlp({8, 16, 4}));
  Tape other;
  const NamedValues<Tensor> values{{"layers.0.weight", a.value()},
                                   {"layers.0.bias", b.value()},
                                   {"layers.1.weight", c.value()},
                                   {"layers.1.bias", d.value()}};
  const NamedValues<Var> w = tape_weights(other, sparse, values);
  other.backward(sparse.run<Var>(w, {{"x", x}}).at("layers.1"), waves({32, 4}, 0.4));
  const Tensor again = *w.at("layers.0.weight").grad();
  for (Index i = 0; i < 16 * 8; ++i)
    CHECK(learned.values()->as<float>()[i] == again.values()->as<float>()[i]);
}

TEST_CASE("an optimizer step with a dense gradient can resparsify the weight") {
  Parameter w("w", sparsify(waves({8, 8}, 2.1), by("magnitude:sparsity=0.75"), Spec("csr")));
  const Mask before = w.value.stored();
  Tape tape;
  const Var a = tape.parameter(w.value, OutFormat::dense());
  tape.backward(mse(linear(Var(waves({16, 8}, 1.1)), a), waves({16, 8}, 0.4)));
  const AdamW adam({.rate = 1});
  adam.step(w, *a.grad(), Update::resparsify(by("magnitude:sparsity=0.75")));
  CHECK(w.value.layout() == "csr");
  CHECK(w.value.stored().count() == 16);
  CHECK(common(w.value, before) < 16);
}

TEST_CASE("the gradient format of a value used twice applies to the sum of its gradients") {
  Tape tape;
  const Tensor x = Dense::of({1, 2}, {1, 2});
  const Var a = tape.parameter(x, OutFormat::fused(by("threshold:at=1"), Spec("csr")));
  // 0.6 and 0.6 of the first element, 0.6 and 0.2 of the second one.
  const Var twice = add(scale(a, 0.6), mul(a, Tensor(Dense::of({1, 2}, {0.6f, 0.2f}))));
  tape.backward(twice, Tensor(Dense::of({1, 2}, {1, 1})));
  CHECK(a.grad()->stored().count() == 1);
  CHECK(to_vector<float>(*a.grad()).at(0) == doctest::Approx(1.2));
}

TEST_CASE("a sparsifier that ranks by gradients is deferred until the backward pass") {
  Tape tape;
  const Var a = tape.parameter(waves({8, 8}, 2.1));
  DeferredSparsity pruned(a, by("gradient:sparsity=0.75"), Spec("csr"));
  CHECK(!pruned.is_ready());
  tape.backward(mse(linear(Var(waves({16, 8}, 1.1)), a), waves({16, 8}, 0.4)));
  CHECK(pruned.get().layout() == "csr");
  CHECK(pruned.get().stored().count() == 16);
}

TEST_CASE("an output whose sparsifier ranks by gradients has the temporary layout until backward") {
  Tape tape;
  const Var a = tape.parameter(waves({8, 8}, 2.1));
  const OutFormat format = OutFormat::after(by("gradient:sparsity=0.5"), Spec("csr"));
  const Var h = linear(Var(waves({16, 8}, 1.1)), a, format);
  CHECK(h.value().layout() == "dense");
  const DeferredSparsity pruned(h, format.external, format.layout);
  tape.backward(mse(h, waves({16, 8}, 0.4)));
  CHECK(pruned.get().layout() == "csr");
  CHECK(pruned.get().stored().count() == 64);
}

TEST_CASE("weights of a graph and their gradients are accessed by name") {
  const Graph g = mlp({16, 8, 4});
  Tape tape;
  NamedValues<Var> w;
  for (const auto& [name, value] : initial_weights(g, 1)) w.emplace(name, tape.parameter(value));
  const Var y = g.run<Var>(w, {{"x", waves({16, 16}, 1.1)}}).at("layers.1");
  tape.backward(mse(y, waves({16, 4}, 0.4)));
  CHECK(w.at("layers.0.weight").grad()->shape() == Shape{8, 16});
}

TEST_CASE("a graph sparsified by weight names has weight gradients in the requested formats") {
  const Graph g = mlp({16, 8, 4});
  SparsityBuilder sb;
  sb.set_weight("layers.*.weight", by("magnitude:sparsity=0.75"), Spec("masked"))
      .set_interm("layers.0.relu", OutFormat::after(by("magnitude:sparsity=0.5"), Spec("masked")))
      .set_weight_grad("layers.1.weight", OutFormat::dense())
      .set_interm_grad("layers.0", OutFormat::after(by("magnitude:sparsity=0.5"), Spec("dense")));
  const Graph sparse = sb.sparse_graph(g);
  const NamedValues<Tensor> weights = sparse_weights(sparse, initial_weights(g, 1));

  Tape tape;
  const NamedValues<Var> w = tape_weights(tape, sparse, weights);
  const Var y = sparse.run<Var>(w, {{"x", waves({16, 16}, 1.1)}}).at("layers.1");
  tape.backward(mse(y, waves({16, 4}, 0.4)));
  CHECK(w.at("layers.0.weight").grad()->stored().count() == 32);
  CHECK(w.at("layers.1.weight").grad()->layout() == "dense");
}

TEST_CASE("a module learns, is saved and loaded, and is traced to a graph with its weight names") {
  const Tensor x = waves({32, 64}, 1.7);
  Dense labels = Dense::zeros(DType::I64, {32});
  for (Index i = 0; i < 32; ++i) labels.values.mutate<std::int64_t>()[i] = i % 10;
  const TempDir dir;
  const std::string file = dir / "net.safetensors";
  std::vector<double> losses;
  Classifier net;
  net.initialize(1);
  net.sparsify("hidden.weight", {by("magnitude:sparsity=0.75"), Spec("csr")});
  const AdamW adam({.rate = 0.01});
  for (int step = 0; step < 50; ++step) {
    const Gradients g = gradients(net, [&] { return cross_entropy(net.forward(x), Var(labels)); });
    for (Parameter* p : net.parameters()) adam.step(*p, g.of.at(p->name));
    losses.push_back(number(g.loss));
  }
  net.eval();
  net.save(file);
  CHECK(losses.back() < 0.8 * losses.front());
  CHECK(net.values().at("hidden.weight").layout() == "csr");
  Classifier other;
  other.load(file);
  CHECK(other.values().at("hidden.weight").stored().count() == 512);

  const Graph g = trace(net, {{"x", x}});
  SparsityBuilder sb;
  sb.set_weight("out.weight", by("magnitude:sparsity=0.5"), Spec("masked"))
      .set_interm("relu", OutFormat::after(by("magnitude:sparsity=0.5"), Spec("masked")));
  const Graph sparse = sb.sparse_graph(g);
  const std::string text = to_json(g);
  CHECK(sparse.find_node("out")->inputs ==
        std::vector<std::string>{"relu", "out.weight", "out.bias"});
  CHECK(text.find("hidden.weight") != std::string::npos);
}

TEST_CASE("View::set() writes rows of a tensor after in-place operators") {
  Tensor x = waves({4, 3}, 1.1);
  const Tensor bias = waves({3}, 0.5), rows = waves({2, 3}, 0.7);
  relu_(x);
  add_(x, bias);
  View(x, 0, 0, 2).set(rows);
  CHECK(to_vector<float>(x).at(0) == to_vector<float>(rows).at(0));
}
