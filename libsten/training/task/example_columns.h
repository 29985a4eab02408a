// SPDX-License-Identifier: Apache-2.0
// Arrays of examples, one row each, for the inputs of a model.
#pragma once
#include <span>

#include "libsten/data/image/augment.h"
#include "libsten/training/task/imported.h"
#include "libsten/training/task/predictions.h"
#include "libsten/training/task/recipe_examples.h"
#include "libsten/training/task/task.h"

namespace sten {

// Converts features x to scale * x + shift in F32.
struct ExampleScale {
  float scale = 1, shift = 0;
  static ExampleScale of(const DataRecipe& d) {
    return {static_cast<float>(d.scale), static_cast<float>(d.shift)};
  }
};

// Normalizes images [N, H, W, C] by channel, and augments them in training.
struct ImageInput {
  ChannelScale scale;
  Augmentation augmentation;
  bool channels_first = false;

  // Error (usage) if a list of the recipe has not one value per channel.
  static ImageInput of(const Recipe& r, Index channels);
};
// Whether the data are images, or the recipe has options of images.
bool are_images(const DataRecipe& d);

struct ExampleColumn {
  std::string input;
  Features values;                    // [N, ...]
  Shape shape;                        // of a batch, without its first extent
  std::optional<ExampleScale> scale;  // none: values have the input's dtype
  std::optional<ImageInput> image{};  // if images
};

struct ExampleColumns {
  std::vector<ExampleColumn> inputs;
  std::string labels_input;
  Dense labels;  // [N, ...], I64; ignored_label is not counted

  Index count() const { return labels.extents.front(); }
  // A hash of all values, continued from `hash`.
  std::uint64_t hashed(std::uint64_t hash) const;
  // Returns a part of a batch. `epoch`: augments for training in this epoch; row i of N has number
  // epoch * N + i.
  BatchPart part(std::span<const Index> rows, std::optional<Index> epoch = {}) const;
};

// Columns for the inputs of the model: arrays that the recipe names, and `features` for one more
// input, if any. Error with file and input if an array does not fit.
ExampleColumns imported_columns(const Recipe& r, const ImportedModel& m, const Dense& labels,
                                const std::string& labels_name, const Features* features,
                                const std::string& features_name);

}  // namespace sten
