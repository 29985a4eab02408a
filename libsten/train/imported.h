// A model from a file of its own, ONNX or a graph, with the loss of a recipe.
#pragma once
#include <memory>

#include "libsten/nn/weights.h"
#include "libsten/onnx/import.h"
#include "libsten/recipe/recipe.h"

namespace sten {

struct ImportedModel {
  std::string name;                      // of its file, for messages
  std::optional<Checkpoint> file;        // of an ONNX model: its weights
  std::vector<std::string> not_weights;  // for load_weights()
  // Of what the logits depend on. Outputs: logits and the loss; the last input: labels.
  Graph graph;
  std::vector<OnnxPort> inputs;  // without labels, and without the draw of dropouts
  OnnxPort logits;
  bool channels_first = true;  // of images

  // How many classes the file says that logits tell apart; none where it does not.
  std::optional<Index> classes() const;
  // How many features a row of its only input has; none where the file does not say.
  std::optional<Index> features() const;
};

// Of the recipe's file, or of `opened`. Error (input) as from import_onnx() or parse_graph(), and for
// an ONNX file that was exported in training mode, which is a warning if it is only measured. Error
// (usage) where the file has no such output.
std::shared_ptr<const ImportedModel> read_imported(const ModelRecipe& m, bool only_measures = false,
                                                   const Checkpoint* opened = nullptr);

// The weights of a graph from a file of their own, as from load_weights(). `file` may also have
// `not_weights` and tensors of integers, which are buffers. Running statistics that it lacks are those
// of `model`, the graph's ONNX file, with a warning.
NamedValues<Tensor> load_imported(const Graph& g, const Checkpoint& file, const Checkpoint* model,
                                  std::vector<std::string> not_weights, LowWeights low);

// Error where the file says that an input takes a batch of one size alone.
void check_open_batch(const OnnxPort& input, const std::string& file);

}  // namespace sten
