// Models exported by PyTorch, compared with the outputs of ONNX Runtime. make_models.py makes them,
// with two batches of two lengths each.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "libsten/files/checkpoint/checkpoint.h"
#include "libsten/model/nn/weights.h"
#include "libsten/model/onnx/import.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

const std::string exports = STEN_SOURCE_DIR "/tests/onnx/models/";

// The largest difference; infinite if the tensors cannot be compared.
double difference(const Dense& a, const Dense& b) {
  if (a.extents != b.extents || a.dtype() != DType::F32 || b.dtype() != DType::F32)
    return std::numeric_limits<double>::infinity();
  const std::vector<float> x = floats(a), y = floats(b);
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double d = std::abs(double{x[i]} - y[i]);
    most = d <= most ? most : d;  // NaN counts
  }
  return most;
}

// A model with the inputs and outputs of two batches of two lengths.
struct Export {
  Checkpoint file, cases;
  OnnxImport imported;
  NamedValues<Tensor> weights;

  Export(const std::string& model, const std::string& exporter)
      : file(Checkpoint::open(exports + model + "-" + exporter + ".onnx")),
        cases(Checkpoint::open(exports + model + ".safetensors")),
        imported(import_onnx(file)),
        weights(load_weights(imported.graph, file, imported.not_weights)) {}

  Tensor load(const std::string& name) const {
    CAPTURE(name);
    const CheckpointTensor* t = cases.find(name);
    REQUIRE(t);
    return cases.load(*t);
  }
  NamedValues<Tensor> inputs(const std::string& size) const {
    NamedValues<Tensor> all;
    for (const GraphPort& p : imported.inputs) all.emplace(p.name, load(size + ".in." + p.name));
    return all;
  }
};

void check_export(const std::string& model, const std::string& exporter) {
  CAPTURE(model);
  CAPTURE(exporter);
  const Export e(model, exporter);
  for (const std::string size : {"b2s7", "b3s12"}) {
    CAPTURE(size);
    const NamedValues<Tensor> outputs = e.imported.graph.run<Tensor>(e.weights, e.inputs(size));
    REQUIRE(outputs.size() == 1);
    const auto& [name, got] = *outputs.begin();
    CHECK(difference(got.to_dense(), e.load(size + ".out." + name).to_dense()) < 1e-4);
  }
}

// The mean of the output's squares.
template <Operand T>
T loss_of(const Export& e, const NamedValues<T>& weights) {
  NamedValues<T> inputs;
  for (const auto& [name, x] : e.inputs("b2s7")) inputs.emplace(name, T(x));
  const T y = e.imported.graph.run<T>(weights, inputs).begin()->second;
  return mean(mul(y, y));
}

}  // namespace

TEST_CASE("exports: the outputs are those of ONNX Runtime") {
  int found = 0;
  for (const std::string model :
       {"mlp", "bert", "roberta", "distilbert", "gpt2", "vit", "wav2vec2"}) {
    for (const std::string exporter : {"opset14", "opset17", "dynamo18"}) {
      CHECK_NOTHROW(check_export(model, exporter));
      ++found;
    }
  }
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(exports))
    files += entry.path().extension() == ".onnx";
  CHECK(files == static_cast<std::size_t>(found));
}

TEST_CASE("exports: what exporters take apart is put together") {
  using Counts = std::map<std::string, Index>;
  const std::map<std::string, Counts> wanted{
      {"mlp", {{"gelu-tanh", 1}, {"layer-norm", 1}, {"linear", 3}}},
      {"bert", {{"attention", 2}, {"gelu", 3}, {"layer-norm", 6}, {"linear", 14}}},
      {"roberta", {{"attention", 2}, {"gelu", 3}, {"layer-norm", 6}, {"linear", 14}}},
      {"distilbert", {{"attention", 2}, {"gelu", 3}, {"layer-norm", 6}, {"linear", 14}}},
      {"gpt2", {{"attention", 2}, {"gelu-tanh", 2}, {"layer-norm", 5}, {"linear", 9}}},
      {"vit", {{"attention", 2}, {"gelu", 2}, {"layer-norm", 5}, {"linear", 14}}},
      {"wav2vec2", {{"attention", 2}, {"gelu", 2}, {"layer-norm", 5}, {"linear", 12}}}};
  for (const auto& entry : wanted)
    for (const std::string exporter : {"opset14", "opset17", "dynamo18"}) {
      CAPTURE(entry.first);
      CAPTURE(exporter);
      CHECK(Export(entry.first, exporter).imported.fused == entry.second);
    }
}

TEST_CASE("exports: gradients are slopes of the loss") {
  for (const std::string model : {"bert", "gpt2", "vit", "wav2vec2"}) {
    CAPTURE(model);
    const Export e(model, "opset17");
    Tape tape;
    NamedValues<Var> vars;
    for (const auto& [name, w] : e.weights) vars.emplace(name, tape.parameter(w));
    tape.backward(loss_of(e, vars));
    double square = 0;
    for (const auto& entry : vars) {
      CAPTURE(entry.first);
      REQUIRE(entry.second.grad().has_value());
      for (const float g : floats(entry.second.grad()->to_dense())) square += double{g} * g;
    }
    const double norm = std::sqrt(square), step = 1e-2;
    REQUIRE(norm > 0);
    const auto moved = [&](double by) {
      NamedValues<Tensor> all;
      for (const auto& [name, w] : e.weights)
        all.emplace(name, add(w, scale(*vars.at(name).grad(), by / norm)));
      return double{floats(loss_of(e, all).to_dense())[0]};
    };
    CHECK((moved(step) - moved(-step)) / (2 * step) == doctest::Approx(norm).epsilon(0.01));
  }
}
