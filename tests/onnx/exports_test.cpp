// SPDX-License-Identifier: Apache-2.0
// Models of transformers exported by PyTorch, compared with the outputs of ONNX Runtime, before and
// after pruning. make_models.py makes them, with two batches of two lengths each.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>

#include "libsten/model/fusion/fused_graph.h"
#include "tests/support/onnx_models.h"

using namespace sten;
using namespace sten::testing;

namespace {

const std::string exports = STEN_SOURCE_DIR "/tests/onnx/models/";

// A model with the inputs and outputs of two batches of two lengths.
struct Export : OnnxFile {
  std::string model, exporter;
  Checkpoint cases;

  Export(const std::string& name, const std::string& by)
      : OnnxFile(exports + name + "-" + by + ".onnx"),
        model(name),
        exporter(by),
        cases(Checkpoint::open(exports + name + ".safetensors")) {}

  Dense load(const std::string& name) const {
    CAPTURE(name);
    const CheckpointTensor* t = cases.find(name);
    REQUIRE(t);
    return cases.load(*t).to_dense();
  }
  std::vector<double> values(const std::string& name) const {
    const std::vector<float> all = floats(load(name));
    return {all.begin(), all.end()};
  }
  NamedValues<Tensor> inputs(const std::string& size) const {
    NamedValues<Tensor> all;
    for (const GraphPort& p : import.inputs) all.emplace(p.name, load(size + ".in." + p.name));
    return all;
  }
  // A gradient of a weight, with axes as the weight has them in the file.
  Tensor in_file_order(const std::string& weight, const Tensor& gradient) const {
    return import.graph.find_weight(weight)->in_by_out ? transpose(gradient) : gradient;
  }
  Dense labels() const {
    const Shape out = load(exporter + ".b2s7").extents;
    return class_labels({out.begin(), out.end() - 1}, out.back());
  }
};

// Calls f(export) for each file. Returns their number.
int for_each_export(auto&& f) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(exports))
    if (entry.path().extension() == ".onnx") names.push_back(entry.path().stem());
  std::ranges::sort(names);
  for (const std::string& name : names) {
    CAPTURE(name);
    const std::size_t at = name.rfind('-');
    CHECK_NOTHROW(f(Export(name.substr(0, at), name.substr(at + 1))));
  }
  return static_cast<int>(names.size());
}

template <Operand T>
T loss_of(const Export& e, const NamedValues<T>& weights) {
  NamedValues<T> inputs;
  for (const auto& [name, x] : e.inputs("b2s7")) inputs.emplace(name, T(x));
  const T y = e.import.graph.run<T>(weights, inputs).begin()->second;
  return cross_entropy(y, T(Tensor(e.labels())));
}

// As gradients() of make_models.py.
std::vector<double> norm_and_product(const Tensor& gradient) {
  const std::vector<float> g = floats(gradient.to_dense());
  double product = 0;
  for (std::size_t i = 0; i < g.size(); ++i) product += g[i] * std::cos(static_cast<double>(i));
  return {norm(gradient), product};
}

}  // namespace

TEST_CASE("exports: outputs match ONNX Runtime before and after fusion") {
  const int models = for_each_export([](const Export& e) {
    const Graph fused = fused_graph(e.import.graph, e.import.inputs);
    for (const std::string size : {"b2s7", "b3s12"}) {
      CAPTURE(size);
      const std::vector<double> wanted = e.values(e.exporter + "." + size);
      CHECK(relative_difference(e.run(e.inputs(size)), wanted) < 1e-5);
      const auto outputs = fused.run<Tensor>(e.weights, e.inputs(size));
      CHECK(relative_difference(outputs.begin()->second, wanted) < 1e-5);
    }
  });
  CHECK(models == 55);
}

TEST_CASE("exports: outputs of pruned models match ONNX Runtime") {
  for_each_export([](const Export& e) {
    const Tensor got = run_pruned(e.file.name(), e.inputs("b2s7"));
    CHECK(relative_difference(got, e.values(e.exporter + ".pruned")) < 1e-5);
  });
}

TEST_CASE("exports: training with masked weights reduces the loss") {
  for_each_export([](const Export& e) {
    const OnnxFile m(e.file.name(), OnnxMode::training);
    const auto losses =
        masked_losses(e.file.name(), e.inputs("b2s7"), e.labels(), m.layers(), 1e-3);
    CHECK(losses.back() < losses.front());
  });
}

TEST_CASE("exports: import fuses the expected number of operators of each kind") {
  using Counts = std::map<std::string, Index>;
  const std::map<std::string, Counts> wanted{
      {"mlp", {{"gelu-tanh", 1}, {"layer-norm", 1}, {"linear", 3}}},
      {"bert", {{"attention", 2}, {"gelu", 3}, {"layer-norm", 6}, {"linear", 14}}},
      {"roberta", {{"attention", 2}, {"gelu", 3}, {"layer-norm", 6}, {"linear", 14}}},
      {"distilbert", {{"attention", 2}, {"gelu", 3}, {"layer-norm", 6}, {"linear", 14}}},
      {"gpt2", {{"attention", 2}, {"gelu-tanh", 2}, {"layer-norm", 5}, {"linear", 9}}},
      {"bart", {{"attention", 6}, {"gelu", 4}, {"layer-norm", 12}, {"linear", 33}}},
      {"t5", {{"attention", 6}, {"linear", 33}}},
      {"swin", {{"attention", 4}, {"gelu", 4}, {"layer-norm", 11}, {"linear", 26}}},
      {"vit", {{"attention", 2}, {"gelu", 2}, {"layer-norm", 5}, {"linear", 13}}}};
  int compared = 0;
  for_each_export([&](const Export& e) {
    const auto found = wanted.find(e.model);
    if (found == wanted.end()) return;
    CHECK(e.import.fused == found->second);
    ++compared;
  });
  CHECK(compared == 23);
}

TEST_CASE("exports: gradients match PyTorch and a central difference of the loss") {
  int compared = 0;
  for_each_export([&](const Export& e) {
    Tape tape;
    NamedValues<Var> vars;
    for (const auto& [name, w] : e.weights) vars.emplace(name, tape.parameter(w));
    tape.backward(loss_of(e, vars));
    double square = 0;
    for (const auto& entry : vars)
      if (const auto& g = entry.second.grad()) square += norm(*g) * norm(*g);
    const double length = std::sqrt(square), step = 1e-3 / length;
    REQUIRE(length > 0);
    for (const auto& entry : vars) {
      const std::string& name = entry.first;
      const Var& var = entry.second;
      const CheckpointTensor* stored = e.cases.find(e.exporter + ".grad." + name);
      if (!stored) continue;
      CAPTURE(name);
      REQUIRE(var.grad());
      const std::vector<double> got = norm_and_product(e.in_file_order(name, *var.grad()));
      const std::vector<float> wanted = floats(e.cases.load(*stored).to_dense());
      for (const std::size_t i : {0, 1})
        CHECK(std::abs(got[i] - wanted[i]) < 2e-4 * wanted[0] + 1e-6 * length);
      ++compared;
    }
    const auto moved = [&](double by) {
      NamedValues<Tensor> all;
      for (const auto& [name, w] : e.weights) {
        const auto& g = vars.at(name).grad();
        all.emplace(name, g ? add(w, scale(*g, by / length)) : w);
      }
      return double{floats(loss_of(e, all).to_dense())[0]};
    };
    CHECK((moved(step) - moved(-step)) / (2 * step) == doctest::Approx(length).epsilon(0.01));
  });
  CHECK(compared > 1500);
}
