// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/task/recipe_examples.h"

#include "libsten/core/base/error.h"
#include "libsten/core/base/name_list.h"
#include "libsten/core/base/text.h"
#include "libsten/data/arrays.h"
#include "libsten/data/csv.h"
#include "libsten/data/image/cifar.h"
#include "libsten/data/image/folder.h"
#include "libsten/data/image/shapes.h"
#include "libsten/files/checkpoint/checkpoint.h"

namespace sten {
namespace {

CsvOptions csv_options(const DataRecipe& d, Index features) {
  CsvOptions o;
  if (!d.has_labels) o.features = features;
  if (d.label == "first") o.label = "1";
  if (d.label != "first" && d.label != "last") o.label = d.label;
  return o;
}

Examples read_arrays_of(const DataRecipe& d) {
  if (!d.labels.empty())
    return make_examples(read_features(d.features), read_array(d.labels), d.features, d.labels);
  Dense features = read_features(d.features);
  const Index rows = features.extents.empty() ? 0 : features.extents[0];
  return make_examples(std::move(features), Dense::zeros(DType::I64, {rows}), d.features, "labels");
}

ExampleRows rows_of(Examples e) { return {{std::move(e.features)}, std::move(e.labels)}; }

RecipeExamples read_folders(const DataRecipe& d) {
  const ImageFolderOptions options{{d.size, d.resize, d.channels}, d.has_labels};
  ImageFolder all = list_images(d.folder, options);
  std::optional<ImageFolder> test;
  if (!d.test_folder.empty()) test = list_images(d.test_folder, options, &all.classes);
  const Index bytes = all.files.bytes() + (test ? test->files.bytes() : 0);
  const bool is_held = !d.random_resized_crop && bytes <= d.cache << 20;
  const auto rows = [is_held](ImageFiles files) {
    if (is_held) return rows_of(read_images(files));
    Dense labels = files.labels();
    return ExampleRows{{{}, std::make_shared<const ImageFiles>(std::move(files))},
                       std::move(labels)};
  };
  RecipeExamples read{rows(std::move(all.files)), std::nullopt, printable(d.folder),
                      printable(d.folder)};
  if (test) read.test = rows(std::move(test->files));
  return read;
}

}  // namespace

Dense read_features(const std::string& path, const std::string& name) {
  if (!path.ends_with(".safetensors")) return read_array(path);
  const Checkpoint file = Checkpoint::open(path);
  if (const CheckpointTensor* t = file.find(name)) return file.load(*t).to_dense();
  if (file.tensors().size() == 1) return file.load(file.tensors().front()).to_dense();
  std::vector<std::string> names;
  for (const CheckpointTensor& t : file.tensors()) names.push_back(t.name);
  if (!name.empty())
    fail("{}: unknown tensor {}{} (expected one of {})", file.name(), quote(name),
         suggestion(name, names), name_list(names));
  fail("{}: expected one tensor, got {} ({}) (see data.inputs)", file.name(), names.size(),
       name_list(names));
}

RecipeExamples read_examples(const DataRecipe& d, Index features) {
  if (d.kind == "images") return read_folders(d);
  const auto one_file = [](Examples all, const std::string& x, const std::string& y) {
    return RecipeExamples{rows_of(std::move(all)), std::nullopt, printable(x), printable(y)};
  };
  if (d.kind == "csv") return one_file(read_csv(d.file, csv_options(d, features)), d.file, d.file);
  if (d.kind == "arrays") return one_file(read_arrays_of(d), d.features, d.labels);
  if (d.kind == "shapes")
    return one_file(draw_shapes({d.count, d.size, d.noise, d.split_seed}), "shapes", "shapes");
  if (d.kind != "cifar") fail_usage("data of the kind {} has no examples", quote(d.kind));
  const CifarFiles files = cifar_files(d.folder, d.classes);
  RecipeExamples read = one_file(read_cifar(files.train, d.classes), d.folder, d.folder);
  read.test = rows_of(read_cifar(files.test, d.classes));
  return read;
}

}  // namespace sten
