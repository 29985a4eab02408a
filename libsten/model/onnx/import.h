// Import of ONNX models as graphs that run, train and take sparse formats.
//
//   const Checkpoint file = Checkpoint::open("model.onnx");
//   const OnnxImport model = import_onnx(file);
//   const NamedValues<Tensor> weights = load_weights(model.graph, file, model.not_weights);
//   const Tensor y = model.graph.run<Tensor>(weights, {{"x", x}}).at("y");
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libsten/files/checkpoint/checkpoint.h"
#include "libsten/model/graph/inference.h"
#include "libsten/model/onnx/mode.h"

namespace sten {

// An input or output as the file declares it.
struct OnnxPort {
  struct Extent {
    std::optional<Index> size;  // none: any
    std::string symbol;         // such as "batch"; may be empty
  };
  std::string name;
  std::optional<DType> dtype;
  std::optional<std::vector<Extent>> shape;  // none: unknown rank
};

// "[batch, 3]", with "?" for an extent without size and symbol; printable.
std::string shape_text(const std::vector<OnnxPort::Extent>& shape);

struct OnnxImport {
  // Inputs and outputs have the file's names; weights have the checkpoint's. A node has the name of
  // the last node of the file that it replaces, or of its value if that node has none.
  Graph graph;
  std::vector<OnnxPort> inputs, outputs;  // in the graph's order
  // Globs of the checkpoint's tensors that are not weights of the graph, for load_weights():
  // numbers of shapes and indices, and unused tensors.
  std::vector<std::string> not_weights;
  std::map<std::string, Index> fused;  // counts of fusions: "layer-norm"
  Momenta momenta;                     // of batch norms, as train_batch_norms() takes them
  bool is_for_training = false;        // whether batch norms were exported in training mode
};

struct OnnxImportOptions {
  OnnxMode mode = OnnxMode::exported;
  // Allows fusions without a gradient: convolutions with following sums and relus.
  bool for_inference = false;
};

// Imports a model. Error (input) if the file is not an ONNX model or is inconsistent; Error (input)
// with all operators that sten lacks.
OnnxImport import_onnx(const Checkpoint& file, const OnnxImportOptions& options = {});

}  // namespace sten
