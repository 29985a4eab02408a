// Models that PyTorch exported, against what ONNX Runtime computed. make_models.py makes them: two
// batches of two lengths for each.
#include <doctest/doctest.h>

#include <filesystem>

#include "libsten/io/checkpoint.h"
#include "libsten/nn/weights.h"
#include "libsten/onnx/import.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

const std::string exports = STEN_SOURCE_DIR "/tests/onnx/models/";

// The largest difference; infinite for what cannot be compared.
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

void check_export(const std::string& model, const std::string& exporter) {
  CAPTURE(model);
  CAPTURE(exporter);
  const Checkpoint file = Checkpoint::open(exports + model + "-" + exporter + ".onnx");
  const OnnxImport imported = import_onnx(file);
  const NamedValues<Tensor> weights = load_weights(imported.graph, file, imported.not_weights);
  const Checkpoint cases = Checkpoint::open(exports + model + ".safetensors");
  const auto load = [&](const std::string& name) {
    CAPTURE(name);
    const CheckpointTensor* t = cases.find(name);
    REQUIRE(t);
    return cases.load(*t);
  };
  for (const std::string size : {"b2s7", "b3s12"}) {
    CAPTURE(size);
    NamedValues<Tensor> inputs;
    for (const OnnxPort& p : imported.inputs) inputs.emplace(p.name, load(size + ".in." + p.name));
    const NamedValues<Tensor> outputs = imported.graph.run<Tensor>(weights, inputs);
    REQUIRE(outputs.size() == 1);
    const auto& [name, got] = *outputs.begin();
    CHECK(difference(got.to_dense(), load(size + ".out." + name).to_dense()) < 1e-4);
  }
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
