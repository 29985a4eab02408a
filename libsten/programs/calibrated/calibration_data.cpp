// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/calibrated/calibration_data.h"

#include <algorithm>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/data/text_documents.h"
#include "libsten/programs/run/run_data.h"

namespace sten {
namespace {

// The most rows and positions of a batch; they bound the scratch memory of operators.
constexpr Index rows_at_once = 16, positions_at_once = 2048;

// The largest batch that divides the number of samples.
Index rows_of_batch(const Recipe& recipe, Index samples) {
  const bool has_windows = recipe.data.kind == "text" || recipe.data.kind == "masked-text";
  const Index most =
      has_windows ? positions_at_once / std::max<Index>(1, recipe.data.window) : rows_at_once;
  Index rows = std::clamp<Index>(most, 1, std::min(samples, rows_at_once));
  while (samples % rows != 0) --rows;
  return rows;
}

// The recipe that names the data describes the model of a weights-only checkpoint.
void describe_by_data(const std::string& data, ModelSource& source) {
  if (source.what.is_known()) return;
  if (data.ends_with(".json")) source.what = describe_model(data);
  if (!source.what.is_known())
    fail_usage(
        "{}: expected a model, got only weights (name the model's directory, or a recipe with "
        "--calibrate)",
        source.name);
}

}  // namespace

Recipe calibration_recipe(const CalibrationOptions& options, ModelSource& source) {
  describe_by_data(options.data, source);
  Recipe recipe = data_recipe(source, {.path = options.data});
  if (options.window) {
    if (recipe.data.kind != "text" && recipe.data.kind != "masked-text")
      fail_usage("--calibrate-window: expected a text as --calibrate, got {}", recipe.data.kind);
    recipe.data.window = *options.window;
  }
  recipe.batch = rows_of_batch(recipe, options.rows());
  recipe.accumulate = 1;
  recipe.data.crop_padding = 0;
  recipe.data.mirror = false;
  recipe.data.has_labels = options.allocate == AllocationMethod::sensitivity;
  return recipe;
}

CalibrationBatches::CalibrationBatches(const Task& task, const Graph& graph, Index samples,
                                       bool with_loss) {
  // With fewer rows than samples, each row is used once.
  for (Index step = 0; rows < samples && step < task.steps_per_epoch(); ++step)
    for (BatchPart& part : task.batch(step)) {
      NamedValues<Tensor>& batch = inputs.emplace_back();
      for (const std::string& name : graph.inputs()) batch.emplace(name, part.inputs.at(name));
      rows += rows_of(part);
      if (with_loss) parts.push_back(std::move(part));
    }
}

void check_calibration_inputs(const Recipe& recipe, const CalibrationInputs& inputs,
                              const std::string& data) {
  if (inputs.empty()) fail("{}: expected rows to calibrate on, got none", printable(data));
  const std::vector<std::string>& text = recipe.data.text;
  if (text.empty() || recipe.data.vocabulary.empty()) return;
  const std::optional<TokenId> unknown = read_tokenizer(recipe.data.vocabulary)->special_ids().unk;
  if (!unknown) return;
  Index count = 0, all = 0;
  for (const NamedValues<Tensor>& batch : inputs) {
    const auto ids = batch.find("input_ids");
    if (ids == batch.end()) return;
    const Dense dense = ids->second.to_dense();
    all += dense.size();
    count += std::ranges::count(dense.values.as<std::int64_t>(), *unknown);
  }
  check_known(count, all, text.front(), recipe.data.vocabulary);
}

}  // namespace sten
