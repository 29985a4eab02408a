// The examples that a recipe's data are, whatever files they come from.
#pragma once
#include "libsten/data/examples.h"
#include "libsten/recipe/recipe.h"

namespace sten {

struct RecipeExamples {
  Examples all;
  std::optional<Examples> test;            // if it has files of its own
  std::string features_name, labels_name;  // what they were read from, printable
};

// An array of a .npy or idx file, or the tensor `name` of a safetensors file, which may be its only one
// under another name.
Dense read_features(const std::string& path, const std::string& name = "");

// Of any kind but masked-text. `features`: how many the model takes, 0 if unknown; of rows of a csv
// without labels, where `d` has none. Error with the file where it is damaged.
RecipeExamples read_examples(const DataRecipe& d, Index features = 0);

}  // namespace sten
