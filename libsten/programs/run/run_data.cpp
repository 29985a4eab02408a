// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/run/run_data.h"

#include <algorithm>
#include <filesystem>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/data/examples.h"
#include "libsten/files/system/data_file.h"
#include "libsten/model/nn/bert.h"
#include "libsten/model/nn/causal_model.h"
#include "libsten/model/nn/config_file.h"
#include "libsten/programs/run/given_inputs.h"
#include "libsten/programs/run/token_data.h"

namespace sten {
namespace {

namespace fs = std::filesystem;

constexpr Index usual_window = 128;

constexpr std::pair<const char*, DataSplit> splits[] = {
    {"test", DataSplit::test}, {"validation", DataSplit::validation}, {"train", DataSplit::train}};

// The positions of the model; usual_window if the config does not say.
Index positions_of(const ModelRecipe& m) {
  if (!has_config(m)) return usual_window;
  return m.kind == "bert" ? BertConfig::read(m.config).max_position_embeddings
                          : positions_of_config(read_config(m.config), printable(m.config));
}

// Labelled rows for a BERT classifier, otherwise text.
std::string kind_of_text(const ModelRecipe& m, const std::string& path, DataRecipe& d) {
  if (is_decoder(m)) return "text";
  if (m.kind != "bert") return "masked-text";
  const BertHead head = BertConfig::read(m.config).head;
  if (head == BertHead::none)
    fail_usage("--data {}: {} is a BertModel, which has no loss (use --input)", printable(path),
               printable(m.config));
  if (head == BertHead::words || path.ends_with(".txt")) return "masked-text";
  const bool words = head == BertHead::tokens;
  if (d.text_column.empty()) d.text_column = words ? "tokens" : "text";
  if (d.label_column.empty()) d.label_column = words ? "labels" : "label";
  return words ? "labelled-words" : "labelled-text";
}

// Sets the array of a .npy file, or the tensors of a safetensors file, named after inputs.
void take_arrays(const std::string& path, DataRecipe& d) {
  d.kind = "arrays";
  d.features.clear();
  d.inputs.clear();
  d.labels.clear();
  if (path.ends_with(".npy")) {
    d.features = path;
    return;
  }
  const Checkpoint file = Checkpoint::open(path);
  if (file.tensors().empty()) fail("{}: expected tensors, got none", file.name());
  if (file.tensors().size() == 1) d.features = path;
  for (const CheckpointTensor& t : file.tensors())
    if (d.features.empty()) d.inputs.emplace(t.name, path);
}

// Replaces the recipe's data by the user's file or folder.
void take_own(const std::string& path, const ModelSource& source, DataRecipe& d) {
  std::error_code error;
  const std::string absolute = fs::absolute(path).string();
  const bool is_folder = fs::is_directory(path, error);
  if (is_folder && d.kind != "cifar") {
    d.kind = "images";
    if (d.size == 0)
      fail_usage("--data {}: a folder of images has no size (name a recipe with the size)",
                 printable(path));
  } else if (!is_folder && path.ends_with(".csv") && !has_config(source.what.model)) {
    d.kind = "csv";
  } else if (!is_folder && (path.ends_with(".npy") || path.ends_with(".safetensors"))) {
    take_arrays(absolute, d);
  } else if (!is_folder) {
    d.kind = kind_of_text(source.what.model, path, d);
    if (!source.what.vocabulary.empty()) d.vocabulary = source.what.vocabulary;
    if (d.vocabulary.empty())
      fail_usage("--data {}: a text needs a tokenizer, not found beside the model",
                 printable(path));
    if (!source.recipe) d.window = std::min(usual_window, positions_of(source.what.model));
  }
  const bool is_table = d.kind == "csv" || is_labelled(d);
  if (is_folder)
    d.folder = absolute;
  else if (is_table)
    d.file = absolute;
  else if (d.kind != "arrays")
    d.text = {absolute};
  d.completion_only_loss = false;
  d.test_folder.clear();
  d.test_file.clear();
}

// Data of the user, not of a recipe.
bool is_own(const DataOptions& o) { return !o.path.empty() && !o.path.ends_with(".json"); }
// The user's data is used whole by default.
bool is_whole(const DataOptions& o) { return is_own(o) && (o.split.empty() || o.split == "all"); }

class TaskBatches final : public RunData {
 public:
  TaskBatches(const ModelSource& source, const Recipe& recipe, const DataOptions& o)
      : task_(task_of(source, recipe)) {
    std::vector<std::string> present;
    for (const auto& [name, s] : splits)
      if (task_.has(s)) present.emplace_back(name);
    // Of a recipe's data, the first split with rows.
    split_ = !o.split.empty()  ? o.split
             : is_whole(o)     ? "all"
             : present.empty() ? "test"
                               : present.front();
    for (const auto& [name, s] : splits)
      if (split_ == "all" || split_ == name)
        for (Index i = 0; i < task_.data().parts(s); ++i) parts_.emplace_back(s, i);
    if (parts_.empty())
      fail_usage("the {} split is empty: {}{}", split_, why_empty(recipe.data),
                 present.empty() ? "" : "; --split " + present.front() + " has rows");
  }

  Index batches() const override { return std::ssize(parts_); }
  RunBatch batch(Index i) const override {
    BatchPart part = task_.data().part(parts_[i].first, parts_[i].second);
    const std::string& labels = task_.evaluation_graph().inputs().back();
    RunBatch b{std::move(part.inputs), std::nullopt, part.predictions};
    b.labels = b.inputs.at(labels).as<Dense>();
    b.inputs.erase(labels);
    return b;
  }
  RunnableModel model(const ModelSource& source) const override {
    return fused(read_model(source, task_), batch(0).inputs);
  }
  const F1Scorer* scorer() const override { return task_.scorer(); }
  bool is_text() const override { return task_.recipe().data.kind == "text"; }
  std::string split() const override { return split_; }

 private:
  // The recipe's key that leaves the split empty, and its value.
  std::string why_empty(const DataRecipe& d) const {
    if (split_ == "validation") return fmt::format("data.validation is {}", d.validation);
    if (split_ == "train") return fmt::format("data.train is {}", d.train);
    return fmt::format("data.train is {} and data.validation {}, and the rest is the test split",
                       d.train, d.validation);
  }

  Task task_;
  std::string split_;
  std::vector<std::pair<DataSplit, Index>> parts_;
};

class InputBatches final : public RunData {
 public:
  InputBatches(const ModelSource& source, const DataOptions& o)
      : InputBatches(source, o, read_arrays(o.inputs)) {}
  InputBatches(const ModelSource& source, const DataOptions& o,
               const std::vector<GivenArray>& given)
      : has_mask_(has_mask(given)),
        weights_(source.weights),
        model_(read_model(source, has_mask_)),
        given_(inputs_of(given, model_)),
        step_(o.batch > 0 ? o.batch : std::max<Index>(1, given_.rows)) {
    model_ = fused(std::move(model_), given_.values);
    if (step_ < given_.rows && given_.batched.empty())
      fail_usage("--batch {}: {} has inputs of a fixed size, with {} rows", o.batch, model_.name,
                 given_.rows);
    if (o.labels.empty()) return;
    const std::string name = printable(o.labels);
    labels_ = labels_of(read_values(o.labels), name, ignored_label);
    if (labels_->extents.empty() || labels_->extents.front() != given_.rows)
      fail("{}: expected {} rows, as in the inputs, got shape {}", name, given_.rows,
           to_string(labels_->extents));
  }

  Index batches() const override { return std::max<Index>(1, ceil_div(given_.rows, step_)); }
  RunBatch batch(Index i) const override {
    const Index begin = i * step_, end = std::min(begin + step_, given_.rows);
    RunBatch b{given_.part(begin, end), std::nullopt, end - begin};
    if (labels_) b.labels = rows_of(*labels_, begin, end);
    return b;
  }
  RunnableModel model(const ModelSource& source) const override {
    if (source.weights == weights_) return model_;
    return fused(read_model(source, has_mask_), given_.values);
  }
  std::vector<std::string> notes() const override { return given_.filled; }

 private:
  bool has_mask_;
  std::shared_ptr<const Checkpoint> weights_;
  RunnableModel model_;
  GivenInputs given_;
  Index step_;
  std::optional<Dense> labels_;
};

}  // namespace

Recipe data_recipe(const ModelSource& source, const DataOptions& o) {
  Recipe r = source.recipe.value_or(Recipe());
  if (o.path.ends_with(".json"))
    r = read_recipe(o.path);
  else if (is_own(o))
    take_own(o.path, source, r.data);
  if (r.steps == 0 && r.epochs == 0) r.steps = 1;  // no steps are run
  if (o.batch > 0) r.evaluation.batch = o.batch;
  return r;
}

std::unique_ptr<RunData> data_of_recipe(const ModelSource& source, const Recipe& recipe,
                                        const DataOptions& o) {
  const bool is_text = is_decoder(source.what.model) && recipe.data.kind == "text" && is_whole(o) &&
                       !source.what.vocabulary.empty();
  if (is_text || is_token_data(source, o)) return token_data(source, o, recipe.data.window);
  if (!is_whole(o)) return std::make_unique<TaskBatches>(source, recipe, o);
  Recipe whole = recipe;  // in one split, so that a single row is enough
  whole.data.train = 1;
  whole.data.validation = 0;
  return std::make_unique<TaskBatches>(source, whole, o);
}

std::unique_ptr<RunData> data_of_inputs(const ModelSource& source, const DataOptions& o) {
  return std::make_unique<InputBatches>(source, o);
}

}  // namespace sten
