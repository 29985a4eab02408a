// SPDX-License-Identifier: Apache-2.0
// Graphs in the form of ONNX exporters, in an executor.
#include <doctest/doctest.h>

#include <algorithm>

#include "libsten/files/checkpoint/checkpoint.h"
#include "libsten/model/execution/executor.h"
#include "libsten/model/fusion/fused_graph.h"
#include "libsten/model/nn/weights.h"
#include "libsten/model/onnx/import.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

double furthest_apart(const Tensor& a, const Tensor& b) {
  const std::vector<float> x = floats(a.to_dense()), y = floats(b.to_dense());
  REQUIRE(a.shape() == b.shape());
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    worst = std::max(worst, std::abs(double{x[i]} - double{y[i]}));
  return worst;
}

Attributes with_list(const char* name, Attributes::List list) {
  return Attributes().set(name, std::move(list));
}

// Attention of x (q, k and v) with 2 heads of 20 channels and a key mask of 1 (visible) and 0
// (hidden): `composed` from primitive operators, or one attention operator. The mask is computed
// between the products as a bias, or is the input.
Graph attending(bool composed, bool bias) {
  std::vector<Node> nodes{{"norm", "layer-norm", {"x", "one", "zero"}},
                          {"q", "linear", {"norm", "wq"}},
                          {"k", "linear", {"norm", "wk"}},
                          {"v", "linear", {"norm", "wv"}}};
  const auto add = [&](const char* name, const char* op, std::vector<std::string> in,
                       Attributes attributes = {}) {
    nodes.push_back({name, op, std::move(in), std::move(attributes)});
  };
  if (bias) {
    add("seen", "cast", {"mask"}, Attributes().set("to", "F32"));
    add("rows", "unsqueeze", {"seen"}, with_list("axes", {1, 2}));
    add("hidden", "sub", {"number", "rows"});
    add("bias", "scale", {"hidden"}, Attributes().set("by", -1e9));
  }
  if (composed) {
    const auto split = [&](const char* name, const char* from, Attributes::List axes) {
      const std::string parted = std::string(from) + ".heads";
      add(parted.c_str(), "reshape", {from},
          with_list("shape", {0, 0, 2, 20}).set("copy-zeros", 1));
      add(name, "transpose", {parted}, with_list("axes", std::move(axes)));
    };
    split("qh", "q", {0, 2, 1, 3});
    split("kh", "k", {0, 2, 3, 1});
    split("vh", "v", {0, 2, 1, 3});
    add("products", "matmul", {"qh", "kh"});
    add("scaled", "scale", {"products"}, Attributes().set("by", 0.2));
    add("scores", "add", {"scaled", "bias"});
    add("weights", "softmax", {"scores"});
    add("heads", "matmul", {"weights", "vh"});
    add("tokens", "transpose", {"heads"}, with_list("axes", {0, 2, 1, 3}));
    add("context", "reshape", {"tokens"}, with_list("shape", {0, 0, 40}).set("copy-zeros", 1));
  } else {
    add("context", "attention", {"q", "k", "v", bias ? "bias" : "mask"},
        Attributes().set("heads", 2).set("scale", 0.2));
  }
  add("out", "linear", {"context", "wo"});
  add("sum", "add", {"out", "norm"});
  add("y", "identity", {"sum"});
  const Spec init = Spec::parse("normal:std=0.2");
  return Graph({{"x", "mask"},
                {{"one", {40}, Spec("ones")},
                 {"zero", {40}, Spec("zeros")},
                 {"wq", {40, 40}, init},
                 {"wk", {40, 40}, init},
                 {"wv", {40, 40}, init},
                 {"wo", {40, 40}, init}},
                std::move(nodes),
                {"y"},
                {{"number", Dense::of({1}, {1})}}});
}

std::vector<std::string> steps_of(const ExecutionPlan& plan) {
  std::vector<std::string> all;
  for (const ExecutionStep& s : plan.steps) all.push_back(s.runs);
  return all;
}
Index count_steps(const ExecutionPlan& plan, std::string_view runs, std::string_view layout) {
  return std::ranges::count_if(
      plan.steps, [&](const ExecutionStep& s) { return s.runs == runs && s.layout == layout; });
}

const std::string exports_folder = STEN_SOURCE_DIR "/tests/onnx/models/";

}  // namespace

TEST_CASE("attention with a key mask or a bias runs in panels between its products") {
  const NamedValues<Tensor> w = initial_weights(attending(true, true), 5);
  const Graph wanted = attending(true, true);
  for (const bool bias : {false, true}) {
    CAPTURE(bias);
    Executor fused(attending(false, bias), w), plain(attending(false, bias), w, {.fuse = false});
    for (const Index window : {64, 40, 100, 20}) {
      CAPTURE(window);
      Dice dice(4);
      Dense mask = Dense::zeros(DType::I64, {3, window});
      for (Index i = 0; i < mask.size(); ++i)
        mask.values.mutate<std::int64_t>()[i] = i / window != 1 || i % window < window / 2;
      const NamedValues<Tensor> inputs{{"x", normals(dice, {3, window, 40})}, {"mask", mask}};
      const Tensor y = wanted.run<Tensor>(w, inputs).at("y");
      for (int run = 0; run < 2; ++run) CHECK(furthest_apart(fused.run(inputs).at("y"), y) < 1e-5);
      CHECK(furthest_apart(plain.run(inputs).at("y"), y) < 1e-5);
      if (window < 32) continue;
      std::vector<std::string> steps{"load",   "layer-norm", "linear",       "linear",
                                     "linear", "attention",  "linear + add", "store"};
      if (bias) steps.insert(steps.begin(), {"cast", "unsqueeze", "sub", "scale"});
      CHECK(steps_of(fused.plan()) == steps);
      CHECK(count_steps(fused.plan(), "attention", "panels") == 1);
    }
  }
}

TEST_CASE("attention accepts a bias whose shape differs from that of the previous run") {
  const Graph g({{"x", "bias"},
                 {{"w", {8, 8}, Spec::parse("normal:std=0.4")}},
                 {{"q", "linear", {"x", "w"}},
                  {"y", "attention", {"q", "q", "q", "bias"}, Attributes().set("heads", 2)}},
                 {"y"}});
  const NamedValues<Tensor> w = initial_weights(g, 5);
  Executor fused(g, w);
  const std::vector<Shape> shapes{{1, 1, 1, 50}, {50, 50}, {2, 1, 50, 50}, {2, 2, 1, 50}, {50, 1}};
  for (const Shape& shape : shapes) {
    CAPTURE(to_string(shape));
    Dice dice(6);
    const NamedValues<Tensor> inputs{{"x", normals(dice, {2, 50, 8})},
                                     {"bias", normals(dice, shape)}};
    const Tensor wanted = g.run<Tensor>(w, inputs).at("y");
    for (int run = 0; run < 2; ++run)
      CHECK(furthest_apart(fused.run(inputs).at("y"), wanted) < 1e-5);
    CHECK(count_steps(fused.plan(), "attention", "panels") == (shape.back() == 50 ? 1 : 0));
  }
}

TEST_CASE("outputs that alias values, inputs or other outputs are returned under their names") {
  const Graph g({{"x"},
                 {{"w", {8, 8}, Spec::parse("normal:std=0.4")}},
                 {{"same", "identity", {"x"}},
                  {"up", "linear", {"same", "w"}},
                  {"first", "identity", {"up"}},
                  {"second", "identity", {"up"}},
                  {"third", "identity", {"second"}},
                  {"sum", "add", {"third", "first"}},
                  {"last", "identity", {"x"}}},
                 {"first", "second", "third", "sum", "last"}});
  Dice dice(6);
  const NamedValues<Tensor> inputs{{"x", normals(dice, {40, 8})}}, w = initial_weights(g, 5);
  const NamedValues<Tensor> wanted = g.run<Tensor>(w, inputs);
  Executor fused(g, w);
  for (int run = 0; run < 3; ++run) {
    const NamedValues<Tensor> got = fused.run(inputs);
    REQUIRE(got.size() == wanted.size());
    for (const auto& y : wanted) CHECK(furthest_apart(got.at(y.first), y.second) < 1e-5);
  }
}

TEST_CASE("attention of BERT models from two exporters runs in panels") {
  for (const std::string exporter : {"opset14", "dynamo18"}) {
    CAPTURE(exporter);
    const Checkpoint file = Checkpoint::open(exports_folder + "bert-" + exporter + ".onnx");
    OnnxImport model = import_onnx(file);
    model.graph = fused_graph(model.graph, model.inputs);
    const NamedValues<Tensor> w = load_weights(model.graph, file, model.not_weights);
    // Two texts of 32 and 20 tokens.
    NamedValues<Tensor> inputs;
    for (const GraphPort& p : model.inputs) {
      Dense x = Dense::zeros(DType::I64, {2, 32});
      std::int64_t i = 0;
      for (std::int64_t& v : x.values.mutate<std::int64_t>()) {
        v = p.name == "attention_mask" ? i < 52 : p.name == "input_ids" ? i % 40 : i % 2;
        ++i;
      }
      inputs.emplace(p.name, x);
    }
    Executor fused(model.graph, w), plain(model.graph, w, {.fuse = false});
    const Tensor wanted = plain.run(inputs).begin()->second;
    for (int run = 0; run < 2; ++run)
      CHECK(furthest_apart(fused.run(inputs).begin()->second, wanted) < 1e-5);
    CHECK(count_steps(fused.plan(), "attention", "panels") == 2);
    CHECK(count_steps(fused.plan(), "attention", "") == 0);
  }
}

TEST_CASE("gelu-tanh and silu are fused into products, other activations are steps of the chain") {
  struct Case {
    const char* op;
    Attributes attributes;
    bool joins;
  };
  const Case cases[] = {{"gelu-tanh", {}, true},
                        {"silu", {}, true},
                        {"sigmoid", {}, false},
                        {"mish", {}, false},
                        {"scale", Attributes().set("by", 0.7), false},
                        {"clip", Attributes().set("min", -0.5).set("max", 0.25), false},
                        {"leaky-relu", Attributes().set("alpha", 0.3), false}};
  for (const Case& c : cases) {
    CAPTURE(std::string(c.op));
    const Graph g({{"x"},
                   {{"w", {40, 40}, Spec::parse("normal:std=0.2")}},
                   {{"up", "linear", {"x", "w"}},
                    {"f", c.op, {"up"}, c.attributes},
                    {"down", "linear", {"f", "w"}},
                    {"sum", "add", {"down", "f"}},
                    {"y", c.op, {"sum"}, c.attributes}},
                   {"y"}});
    Dice dice(6);
    const NamedValues<Tensor> inputs{{"x", normals(dice, {70, 40})}}, w = initial_weights(g, 5);
    const Tensor wanted = g.run<Tensor>(w, inputs).at("y");
    Executor fused(g, w);
    for (int run = 0; run < 2; ++run)
      CHECK(furthest_apart(fused.run(inputs).at("y"), wanted) < 1e-5);
    const std::string op = c.op;
    const std::vector<std::string> joined{"load", "linear + " + op, "linear + add + " + op,
                                          "store"},
        apart{"load", "linear", op, "linear + add", op, "store"};
    CHECK(steps_of(fused.plan()) == (c.joins ? joined : apart));
  }
  // An input that an operator rejects gives the operator's error.
  const Graph g({{"x"},
                 {{"w", {40, 40}, Spec("ones")}},
                 {{"up", "linear", {"x", "w"}}, {"f", "silu", {"up"}, Attributes().set("by", 2)}},
                 {"f"}});
  Executor fused(g, initial_weights(g, 5));
  const std::string error = error_of([&] {
    fused.run({{"x", Dense::zeros(DType::F32, {70, 40})}});
  });
  CHECK_MESSAGE(error.starts_with("node 'f': "), error);
}
