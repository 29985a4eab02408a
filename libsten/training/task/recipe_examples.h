// SPDX-License-Identifier: Apache-2.0
// The examples of a recipe's data, from files of any format.
#pragma once
#include "libsten/data/examples.h"
#include "libsten/data/image/image_files.h"
#include "libsten/training/recipe/recipe.h"

namespace sten {

// Features: an array, or images in files.
struct Features {
  Dense array;
  std::shared_ptr<const ImageFiles> files{};  // instead of the array

  Shape extents() const { return files ? files->extents() : array.extents; }
};

struct ExampleRows {
  Features features;  // [N, ...]
  Dense labels;       // [N], I64

  Index count() const { return labels.size(); }
};

struct RecipeExamples {
  ExampleRows all;
  std::optional<ExampleRows> test;         // if there are separate files
  std::string features_name, labels_name;  // files of both, printable
};

// Reads an array from a .npy or idx file, or tensor `name` from a safetensors file; a single tensor
// may have any name.
Dense read_features(const std::string& path, const std::string& name = "");

// Reads data of any kind but masked-text. Images in files are only listed, and decoded when needed,
// if the recipe crops them at random, or they exceed its cache.  `features`: features of the model, 0 if unknown; used for
// a csv without labels, if `d` has no number. Error with the file if it is malformed.
RecipeExamples read_examples(const DataRecipe& d, Index features = 0);

}  // namespace sten
