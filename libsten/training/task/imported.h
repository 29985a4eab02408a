// SPDX-License-Identifier: Apache-2.0
// A model from an ONNX or graph file, with the loss of a recipe.
#pragma once
#include <memory>

#include "libsten/model/nn/weights.h"
#include "libsten/model/onnx/import.h"
#include "libsten/training/recipe/recipe.h"

namespace sten {

struct ImportedModel {
  std::string name;                      // of the file, for messages
  std::optional<Checkpoint> file;        // weights, if the model is ONNX
  std::vector<std::string> not_weights;  // for load_weights()
  // The nodes that the logits depend on. Outputs: logits and loss; last input: labels.
  Graph graph;
  std::vector<GraphPort> inputs;  // without labels and dropout seeds
  GraphPort logits;
  bool channels_first = true;  // of images

  // The number of classes; none if the file does not say.
  std::optional<Index> classes() const;
  // Features of a row of the only input; none if the file does not say.
  std::optional<Index> features() const;
};

// Imports the recipe's file, or `opened`. Error (input) as import_onnx() and parse_graph(). Error
// (usage) if the file has no output of the given name, and as train_batch_norms().
std::shared_ptr<const ImportedModel> read_imported(const ModelRecipe& m, bool only_measures = false,
                                                   const Checkpoint* opened = nullptr);

// Loads the weights of a graph from another file, as load_weights(). `file` may have `not_weights`
// and tensors of integers, which are buffers. Missing running statistics are taken from `model`,
// the graph's ONNX file, with a warning.
NamedValues<Tensor> load_imported(const Graph& g, const Checkpoint& file, const Checkpoint* model,
                                  std::vector<std::string> not_weights, LowWeights low);

// Error if the input has a fixed batch size.
void check_open_batch(const GraphPort& input, const std::string& file);

}  // namespace sten
