// Arrays with a row for each example, by the inputs of a model that they are for.
#pragma once
#include <span>

#include "libsten/data/image/augment.h"
#include "libsten/train/imported.h"
#include "libsten/train/predictions.h"
#include "libsten/train/recipe_examples.h"
#include "libsten/train/task.h"

namespace sten {

// Of features, which become scale * x + shift in F32.
struct ExampleScale {
  float scale = 1, shift = 0;
  static ExampleScale of(const DataRecipe& d) {
    return {static_cast<float>(d.scale), static_cast<float>(d.shift)};
  }
};

// Of images [N, H, W, C], which are normalised by channel, and augmented in training.
struct ImageInput {
  ChannelScale scale;
  Augmentation augmentation;
  bool channels_first = false;

  bool is_augmented() const { return augmentation.crop_padding > 0 || augmentation.mirror; }
  // Error (usage) where a list of the recipe is not one of its channels.
  static ImageInput of(const Recipe& r, Index channels);
};
// Whether they are images, or the recipe asks for what only images have.
bool are_images(const DataRecipe& d);

struct ExampleColumn {
  std::string input;
  Dense values;                       // [N, ...]
  Shape shape;                        // of a batch, but for its first extent
  std::optional<ExampleScale> scale;  // none: values are of the dtype that the input takes
  std::optional<ImageInput> image{};  // instead
};

struct ExampleColumns {
  std::vector<ExampleColumn> inputs;
  std::string labels_input;
  Dense labels;  // [N, ...], I64; ignored_label does not count

  // `epoch`: those of training in it, augmented; row i of N is number epoch * N + i.
  BatchPart part(std::span<const Index> rows, std::optional<Index> epoch = {}) const;
};

// Those inputs of the model that the recipe has files for, and `features`, which are given for
// one more if there is any. Error with the file, and the input, where something does not fit.
ExampleColumns imported_columns(const Recipe& r, const ImportedModel& m, const Dense& labels,
                                const std::string& labels_name, const Dense* features,
                                const std::string& features_name);

}  // namespace sten
