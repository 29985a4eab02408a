// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <array>

#include "libsten/compute/ops/common/operators.h"
#include "libsten/core/sparsify/magnitude.h"
#include "libsten/core/sparsify/streaming.h"
#include "libsten/model/graph/graph_json.h"
#include "tests/support/tensors.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;

namespace {

GraphParts two_layers() {
  return {{"x"},
          {{"a", {6, 4}}, {"a.bias", {6}}, {"b", {3, 6}}},
          {{"up", "linear", {"x", "a", "a.bias"}},
           {"active", "relu", {"up"}},
           {"down", "linear", {"active", "b"}},
           {"loss", "sum", {"down"}, Attributes().set("axes", Attributes::List{0, 1})}},
          {"down", "loss"}};
}

NamedValues<Tensor> weights_of(const Graph& g, std::uint64_t seed) {
  Dice dice(seed);
  NamedValues<Tensor> all;
  for (const Weight& w : g.weights()) all.emplace(w.name, normals(dice, w.shape));
  return all;
}

Tensor input() {
  Dice dice(9);
  return normals(dice, {5, 4});
}

// The error of a graph whose parts f has changed.
template <class F>
std::string error_with(F&& f) {
  GraphParts parts = two_layers();
  f(parts);
  return error_of([&] { Graph g(parts); });
}

}  // namespace

TEST_CASE("outputs of a graph are bit-identical to those of its operators") {
  const Graph g(two_layers());
  const NamedValues<Tensor> w = weights_of(g, 1);
  const Tensor x = input();
  const NamedValues<Tensor> y = g.run<Tensor>(w, {{"x", x}});
  const Tensor wanted = linear(relu(linear(x, w.at("a"), w.at("a.bias"))), w.at("b"));
  CHECK(y.size() == 2);
  CHECK(same_bits(y.at("down").to_dense(), wanted.to_dense()));
  CHECK(same_bits(y.at("loss").to_dense(), sum(wanted).to_dense()));
}

TEST_CASE("constants belong to the graph and are not passed to run()") {
  GraphParts parts = two_layers();
  parts.constants = {{"half", Dense::of({1}, {0.5F})}};
  parts.nodes[2].inputs[0] = "halved";
  parts.nodes.insert(parts.nodes.begin() + 2, Node{"halved", "mul", {"active", "half"}});
  const Graph g(parts);
  const NamedValues<Tensor> w = weights_of(g, 1);
  const Tensor y = g.run<Tensor>(w, {{"x", input()}}).at("down");
  const Tensor wanted =
      linear(scale(relu(linear(input(), w.at("a"), w.at("a.bias"))), 0.5), w.at("b"));
  CHECK(same_bits(y.to_dense(), wanted.to_dense()));
  Tape tape;
  const Var loss = g.run<Var>(tape_weights(tape, g, w), {{"x", input()}}).at("loss");
  tape.backward(loss);
  CHECK(error_with([](GraphParts& p) {
          p.constants = {{"a", Dense::of({1}, {1})}};
        }) == "the graph has the name 'a' twice");
}

TEST_CASE(
    "gradients of a graph are bit-identical to those of its operators with the same formats") {
  const Warnings warnings;  // of linear with sparse activations
  GraphParts parts = two_layers();
  parts.nodes[1].formats =
      Formats(OutFormat::fused(Relu{}, Spec("csr")), OutFormat::after(Magnitude{0.5}, Spec("csr")));
  const Graph g(parts);
  const NamedValues<Tensor> w = weights_of(g, 2);
  const auto train = [&](auto&& loss_of) {
    Tape tape;
    NamedValues<Var> vars;
    for (const auto& [name, value] : w) vars.emplace(name, tape.parameter(value));
    tape.backward(loss_of(vars));
    NamedValues<Tensor> grads;
    for (const auto& [name, v] : vars) grads.emplace(name, *v.grad());
    return grads;
  };
  std::vector<std::string> plans;
  Operators::log_plans(&plans);
  const NamedValues<Tensor> got = train([&](const auto& v) {
    return g.run<Var>(v, {{"x", Var(input())}}).at("loss");
  });
  Operators::log_plans(nullptr);
  const NamedValues<Tensor> wanted = train([&](const auto& v) {
    const Var h = relu(linear(Var(input()), v.at("a"), v.at("a.bias")), parts.nodes[1].formats);
    return sum(linear(h, v.at("b")), {0, 1});
  });
  for (const auto& g : wanted) {
    const std::string name = g.first;
    CAPTURE(name);
    CHECK(same_bits(got.at(name).to_dense(), g.second.to_dense()));
  }
  CHECK(plans.at(1).starts_with("relu(dense) -> relu/csr"));
}

TEST_CASE("a run frees values after their last use") {
  GraphParts parts{{"x"}, {}, {}, {}};
  for (int i = 0; i < 6; ++i)
    parts.nodes.push_back({fmt::format("n{}", i), "track", {i ? fmt::format("n{}", i - 1) : "x"}});
  parts.outputs = {"n5", "n1"};
  // An operator that counts which of its results are alive.
  static std::vector<std::weak_ptr<const void>> made;
  static std::size_t most = 0;
  const auto alive = [] {
    return std::ranges::count_if(made, [](const auto& m) { return !m.expired(); });
  };
  add_operator({"track", {"dense"}, {{}}}, [alive](const Call&) -> Outputs {
    most = std::max<std::size_t>(most, alive());
    const auto own = std::make_shared<std::array<float, 2>>();
    made.push_back(own);
    const auto* bytes = reinterpret_cast<const std::byte*>(own->data());
    return {Dense{{2}, Values(DType::F32, Array<std::byte>::borrow(own, bytes, 8))}};
  });
  const NamedValues<Tensor> y = Graph(parts).run<Tensor>({}, {{"x", f32({2}, {1, 2})}});
  CHECK(made.size() == 6);
  CHECK(most == 2);  // the current input, and n1
  CHECK(alive() == 2);
}

TEST_CASE("an invalid graph is rejected with an error that names the problem") {
  CHECK(error_with([](GraphParts&) {}).empty());
  CHECK(error_with([](GraphParts& p) { p.nodes[1].op = "rellu"; }) ==
        "node 'active': unknown operator 'rellu', did you mean 'relu'?");
  CHECK(error_with([](GraphParts& p) { p.nodes[1].inputs = {"upp"}; }) ==
        "node 'active': unknown input 'upp', did you mean 'up'? (expected an input, a weight, a "
        "constant or a node)");
  CHECK(error_with([](GraphParts& p) { p.nodes[0].inputs[0] = "down"; }) ==
        "node 'up': input 'down' is a later node: expected topological order");
  CHECK(error_with([](GraphParts& p) { p.nodes[0].inputs[0] = "up"; }) ==
        "node 'up': input 'up' is a later node: expected topological order");
  CHECK(error_with([](GraphParts& p) { p.nodes[1].name = "a"; }) ==
        "the graph has the name 'a' twice");
  CHECK(error_with([](GraphParts& p) { p.weights[0].aliases = {"b"}; }) ==
        "weight 'a': duplicate name 'b'");
  CHECK(error_with([](GraphParts& p) { p.weights[0].aliases = p.weights[1].aliases = {"c"}; }) ==
        "weight 'a.bias': duplicate name 'c'");
  CHECK(error_with([](GraphParts& p) { p.inputs.push_back(""); }) == "the graph has an empty name");
  CHECK(error_with([](GraphParts& p) { p.outputs = {"downn"}; }) ==
        "unknown output 'downn', did you mean 'down'? (expected an input, a weight, a constant or "
        "a node)");
  CHECK(error_with([](GraphParts& p) {
          p.outputs = {"loss", "loss"};
        }) == "the graph has the output 'loss' twice");
  CHECK(error_with([](GraphParts& p) {
          p.weights[0].shape = {3, -1};
        }).starts_with("weight 'a': "));
  CHECK(error_with([](GraphParts& p) { p.weights[0].init = Spec("ons"); }) ==
        "weight 'a': unknown initializer 'ons', did you mean 'ones'? (expected one of zeros, ones, "
        "normal, uniform)");
}

TEST_CASE("one error lists all missing and unknown weights and inputs of a run") {
  const Graph g(two_layers());
  NamedValues<Tensor> w = weights_of(g, 3);
  w.erase("b");
  w.erase("a");
  w.emplace("a.bais", w.at("a.bias"));
  CHECK(error_of([&] {
          g.run<Tensor>(w, {{"y", input()}});
        }) ==
        "the graph's inputs do not match:\n"
        "  missing weight 'a'\n"
        "  missing weight 'b'\n"
        "  unknown weight 'a.bais', did you mean 'a.bias'?\n"
        "  missing input 'x'\n"
        "  unknown input 'y'");
}

TEST_CASE("errors of an operator start with the name of its node") {
  const Graph g(two_layers());
  NamedValues<Tensor> w = weights_of(g, 3);
  w.at("a") = Tensor(Dense::zeros(DType::F32, {6, 5}));
  CHECK(error_of([&] { g.run<Tensor>(w, {{"x", input()}}); }).starts_with("node 'up': "));
}

TEST_CASE("initial weights follow their initializer and depend only on the seed and their name") {
  const auto begin = [](std::vector<Weight> w, std::uint64_t seed) {
    return initial_weights(Graph({{}, std::move(w), {}, {}}), seed);
  };
  const std::vector<Weight> all{{"n", {200, 100}, Spec::parse("normal:std=0.5")},
                                {"u", {200, 100}, Spec::parse("uniform:bound=0.25")},
                                {"one", {7}, Spec("ones")},
                                {"zero", {7}}};
  const NamedValues<Tensor> w = begin(all, 5);
  double sum = 0, squares = 0, largest = 0;
  for (const float x : floats(w.at("n").to_dense())) sum += x, squares += double{x} * x;
  CHECK(std::abs(sum / 20000) < 0.02);
  CHECK(std::abs(std::sqrt(squares / 20000) - 0.5) < 0.01);
  for (const float x : floats(w.at("u").to_dense()))
    largest = std::max(largest, std::abs(double{x}));
  CHECK(largest <= 0.25);
  CHECK(largest > 0.249);
  CHECK(floats(w.at("one").to_dense()) == std::vector<float>(7, 1));
  CHECK(floats(w.at("zero").to_dense()) == std::vector<float>(7, 0));
  CHECK(same_bits(begin({all[1]}, 5).at("u").to_dense(), w.at("u").to_dense()));
  CHECK(!same_bits(begin({all[1]}, 6).at("u").to_dense(), w.at("u").to_dense()));
}
