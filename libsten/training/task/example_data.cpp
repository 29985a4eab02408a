// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/data/arrays.h"
#include "libsten/training/task/data.h"
#include "libsten/training/task/example_columns.h"
#include "libsten/training/task/prefetch.h"
#include "libsten/training/task/row_data.h"

namespace sten {
namespace {

using ExampleData = RowData<ExampleColumns>;

// Data of `columns(rows)`. Batches of images are prefetched.
template <class F>
std::shared_ptr<TaskData> data_of_columns(const Recipe& r, const RecipeExamples& read,
                                          const F& columns) {
  std::optional<ExampleColumns> test;
  if (read.test) test = columns(*read.test);
  auto data = std::make_shared<ExampleData>(r, columns(read.all), std::move(test));
  return are_images(r.data) ? prefetched(std::move(data)) : data;
}

// Columns of a model with an input "x", which `column(examples)` makes.
template <class F>
std::shared_ptr<TaskData> data_of(const Recipe& r, const RecipeExamples& read, F&& column) {
  const auto columns = [&](const ExampleRows& e) {
    return ExampleColumns{{column(e)}, "labels", e.labels};
  };
  return data_of_columns(r, read, columns);
}

void check_classes(const RecipeExamples& read, Index classes, const char* key) {
  for (const ExampleRows* e : {&read.all, read.test ? &*read.test : nullptr}) {
    if (!e) continue;
    const Index found = Examples{{}, e->labels}.classes();
    if (found > classes)
      fail("{}: label {} is out of range: the model has {} classes ({})", read.labels_name,
           found - 1, classes, key);
  }
}

}  // namespace

std::shared_ptr<TaskData> read_example_data(const Recipe& r) {
  const RecipeExamples read = read_examples(r.data, r.model.sizes.front());
  const Shape all = read.all.features.extents();
  const Index width = size_of(all) / read.all.count();
  if (width != r.model.sizes.front())
    fail("{}: rows have {} features, but the model expects {} (see model.sizes)",
         read.features_name, width, r.model.sizes.front());
  check_classes(read, r.model.sizes.back(), "model.sizes");
  if (are_images(r.data) && all.size() != 4)
    fail("{}: images must be [N, H, W, C], got {}", read.features_name, to_string(all));
  return data_of(r, read, [&](const ExampleRows& e) {
    ExampleColumn c{"x", e.features, {0, width}, ExampleScale::of(r.data)};
    if (are_images(r.data)) c.image = ImageInput::of(r, all[3]);
    return c;
  });
}

std::shared_ptr<TaskData> read_image_data(const Recipe& r, Index channels, Index classes) {
  RecipeExamples read = read_examples(r.data);
  std::string shape;
  for (ExampleRows* e : {&read.all, read.test ? &*read.test : nullptr}) {
    if (!e) continue;
    Shape of = e->features.extents();
    shape = to_string(of);
    if (!r.data.shape.empty() && size_of(r.data.shape) * of[0] == size_of(of)) {
      of.resize(1);
      of.insert(of.end(), r.data.shape.begin(), r.data.shape.end());
    }
    if (of.size() == 3) of.push_back(1);
    if (of.size() != 4 || of[3] != channels)
      fail("{}: shape {} does not fit images [N, H, W, {}] (see data.shape, model.channels)",
           read.features_name, shape, channels);
    if (!e->features.files) e->features.array.extents = of;
  }
  check_classes(read, classes, "model.classes");
  const ImageInput image = ImageInput::of(r, channels);
  return data_of(r, read, [&](const ExampleRows& e) {
    return ExampleColumn{"x", e.features, e.features.extents(), std::nullopt, image};
  });
}

namespace {

// Dummy labels for data without labels, in the shape of the logits' rows.
Dense no_labels(const Dense& rows, const ImportedModel& m) {
  Shape shape{rows.extents.empty() ? 0 : rows.extents[0]};
  if (m.logits.shape)
    for (std::size_t d = 1; d + 1 < m.logits.shape->size(); ++d)
      shape.push_back(
          (*m.logits.shape)[d].size.value_or(d < rows.extents.size() ? rows.extents[d] : 1));
  return Dense::zeros(DType::I64, shape);
}

}  // namespace

std::shared_ptr<TaskData> read_example_data(const Recipe& r, const ImportedModel& m) {
  const std::string labels = printable(r.data.labels);
  if (r.data.kind == "arrays") {
    std::optional<Features> features;
    if (!r.data.features.empty()) features = Features{read_features(r.data.features)};
    const auto first_input = [&] {
      const auto& [input, file] = *r.data.inputs.begin();
      return read_features(file, input);
    };
    const Dense given = !labels.empty() ? read_array(r.data.labels)
                                        : no_labels(features ? features->array : first_input(), m);
    return std::make_shared<ExampleData>(
        r,
        imported_columns(r, m, given, labels, features ? &*features : nullptr,
                         printable(r.data.features)),
        std::nullopt);
  }
  const RecipeExamples read = read_examples(r.data, m.features().value_or(0));
  return data_of_columns(r, read, [&](const ExampleRows& e) {
    return imported_columns(r, m, e.labels, read.labels_name, &e.features, read.features_name);
  });
}

}  // namespace sten
