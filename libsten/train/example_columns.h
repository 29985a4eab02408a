// Arrays with a row for each example, by the inputs of a model that they are for.
#pragma once
#include <span>

#include "libsten/train/imported.h"
#include "libsten/train/task.h"

namespace sten {

// Of features, which become scale * x + shift in F32.
struct ExampleScale {
  float scale = 1, shift = 0;
  static ExampleScale of(const DataRecipe& d) {
    return {static_cast<float>(d.scale), static_cast<float>(d.shift)};
  }
};

struct ExampleColumn {
  std::string input;
  Dense values;                       // [N, ...]
  Shape shape;                        // of a batch, but for its first extent
  std::optional<ExampleScale> scale;  // none: values are of the dtype that the input takes
};

struct ExampleColumns {
  std::vector<ExampleColumn> inputs;
  std::string labels_input;
  Dense labels;  // [N, ...], I64; ignored_label does not count

  BatchPart part(std::span<const Index> rows) const;
};

inline constexpr Index ignored_label = -100;  // as cross-entropy has it

// For every input of the model. `features`, of the file's dtype, are those of a csv file; else files
// are read. Error with the file, and the input, where something does not fit.
ExampleColumns imported_columns(const DataRecipe& d, const ImportedModel& m, const Dense& labels,
                                const Dense* features = nullptr);

}  // namespace sten
