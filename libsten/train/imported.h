// The ONNX model of a recipe, with a loss.
#pragma once
#include <memory>

#include "libsten/onnx/import.h"
#include "libsten/recipe/recipe.h"

namespace sten {

struct ImportedModel {
  Checkpoint file;
  std::vector<std::string> not_weights;  // for load_weights()
  // Of what the logits depend on. Outputs: logits and the loss; the last input: labels.
  Graph graph;
  std::vector<OnnxPort> inputs;  // without labels
  OnnxPort logits;

  // How many classes the file says that logits tell apart; none where it does not.
  std::optional<Index> classes() const;
};

// Of the recipe's file, or of `opened`. Error (input) as from import_onnx(), Error (usage) where the
// file has no such output.
std::shared_ptr<const ImportedModel> read_imported(const ModelRecipe& m,
                                                   const Checkpoint* opened = nullptr);

// Error where the file says that an input takes a batch of one size alone.
void check_open_batch(const OnnxPort& input, const std::string& file);

}  // namespace sten
