// SPDX-License-Identifier: Apache-2.0
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
#include "libsten/model/fusion/graph_port.h"
#include "libsten/model/graph/inference.h"
#include "libsten/model/onnx/mode.h"

namespace sten {

struct OnnxImport {
  // Inputs and outputs have the file's names; weights have the checkpoint's. A node has the name of
  // the last node of the file that it replaces, or of its value if that node has none.
  Graph graph;
  std::vector<GraphPort> inputs, outputs;  // as the file declares them, in the graph's order
  // Globs of the checkpoint's tensors that are not weights of the graph, for load_weights():
  // numbers of shapes and indices, and unused tensors.
  std::vector<std::string> not_weights;
  std::map<std::string, Index> fused;  // counts of fusions: "layer-norm"
  Momenta momenta;                     // of batch norms, as train_batch_norms() takes them
  bool is_for_training = false;        // whether batch norms were exported in training mode
};

struct OnnxImportOptions {
  OnnxMode mode = OnnxMode::exported;
};

// Imports a model. Error (input) if the file is not an ONNX model or is inconsistent; Error (input)
// with all operators that sten lacks.
OnnxImport import_onnx(const Checkpoint& file, const OnnxImportOptions& options = {});

}  // namespace sten
