// ONNX models as graphs that run, train and take sparse formats.
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

#include "libsten/graph/graph.h"
#include "libsten/io/checkpoint.h"

namespace sten {

// What a file says of an input or an output.
struct OnnxPort {
  struct Extent {
    std::optional<Index> size;  // none: any
    std::string symbol;         // such as "batch"; may be empty
  };
  std::string name;
  std::optional<DType> dtype;
  std::optional<std::vector<Extent>> shape;  // none: not even the rank is known
};

// "[batch, 3]", with "?" for an extent without a name, printable.
std::string shape_text(const std::vector<OnnxPort::Extent>& shape);

struct OnnxImport {
  // Inputs and outputs have the file's names, and weights those that the checkpoint has for them. A
  // node has the name of the last of the file's nodes that it stands for, or of its value where that
  // has none.
  Graph graph;
  std::vector<OnnxPort> inputs, outputs;  // as the graph has them
  // Tensors of the checkpoint that are not weights of the graph: numbers that shapes and indices are
  // made of, and what no output needs. For load_weights(), as globs.
  std::vector<std::string> not_weights;
  std::map<std::string, Index> fused;  // "layer-norm": how many of them were put together
};

struct OnnxImportOptions {
  // Puts together what has no gradient, too: convolutions with the additions and relus after them.
  bool for_inference = false;
};

// Error (input) where the file is no ONNX model or does not fit together; Error (input) that lists
// all operators that sten does not have.
OnnxImport import_onnx(const Checkpoint& file, const OnnxImportOptions& options = {});

// Why an output depends on the other rows of its batch: which batch norms were exported in training
// mode. Empty where none was.
std::string training_mode_text(const std::vector<Node>& nodes);

}  // namespace sten
