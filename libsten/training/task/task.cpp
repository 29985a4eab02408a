// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/task/task.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "libsten/core/base/error.h"
#include "libsten/core/base/hints.h"
#include "libsten/core/base/log.h"
#include "libsten/core/base/memory_left.h"
#include "libsten/core/base/name_list.h"
#include "libsten/core/base/random.h"
#include "libsten/core/base/text.h"
#include "libsten/core/registry/registry.h"
#include "libsten/core/tensor/low_floats.h"
#include "libsten/files/system/data_file.h"
#include "libsten/model/execution/fastest_layouts.h"
#include "libsten/model/graph/dropout.h"
#include "libsten/model/graph/inference.h"
#include "libsten/model/nn/bert.h"
#include "libsten/model/nn/causal_model.h"
#include "libsten/model/nn/config_file.h"
#include "libsten/model/nn/resnet.h"
#include "libsten/model/nn/weights.h"
#include "libsten/training/recipe/targets.h"
#include "libsten/training/task/data.h"
#include "libsten/training/task/lora.h"
#include "libsten/training/task/recipe_model.h"
#include "libsten/training/task/step_formats.h"

namespace sten {
namespace {

// A perceptron or image model, with its loss.
Graph classifier(const ModelRecipe& m) {
  GraphParts g = recipe_model(m).parts();
  g.inputs.emplace_back("labels");
  g.nodes.push_back({"loss", "cross-entropy", {g.outputs.front(), "labels"}});
  g.outputs.emplace_back("loss");
  return Graph(std::move(g));
}

// As double, since a recipe can exceed every integer.
double parameters_of(const ModelRecipe& m) {
  double all = 0;
  for (std::size_t i = 1; i < m.sizes.size(); ++i)
    all += (static_cast<double>(m.sizes[i - 1]) + 1) * static_cast<double>(m.sizes[i]);
  return all;
}
double parameters_of(const Graph& g) {
  double all = 0;
  for (const Weight& w : g.weights()) all += static_cast<double>(size_of(w.shape));
  return all;
}

// Whether the sparsifier's choice for a value depends on other values, or on the value's position.
bool chooses_from_all(const Spec& by) {
  const Sparsifier s = registry().sparsifier(by);
  return (!s.is_local() && !s.needs_pattern()) || s.has_seed();
}
bool chooses_from_parts(const FormatRecipe& f) {
  return f.of != "weight-gradient" &&
         (chooses_from_all(f.inline_by) || chooses_from_all(f.external));
}

}  // namespace

// Checked before any large allocation.
void Task::check_size(double parameters, const std::string& what) const {
  if (streams_weights_ && !imported_) return;
  Index kept = 1;
  if (!only_measures_ && !recipe_.lora) kept += 1 + recipe_.optimizer.state_values();  // gradients
  check_memory(4 * parameters * static_cast<double>(kept),
               fmt::format("{}: {:.3g} parameters{}", what, parameters,
                           only_measures_ ? "" : " in training"));
}

bool Task::has_dropouts() const { return std::ranges::count(graph_->inputs(), draw_input) > 0; }

// An operator over a whole part needs the same parts for every number of processes.
void Task::check_ranks() const {
  if (recipe_.accumulate % ranks_ == 0) return;
  const char* what = has_dropouts()                  ? "model.dropout draws for"
                     : !graph_->statistics().empty() ? "batch norms normalise over"
                     : recipe_.distillation && recipe_.distillation->hidden > 0
                         ? "distillation.hidden takes the mean of"
                     : std::ranges::any_of(recipe_.formats, chooses_from_parts)
                         ? "a sparsifier of formats chooses from"
                         : nullptr;
  if (what)
    fail_usage(
        "/accumulate: {} one part of a batch at a time: {} ranks need a multiple of {}, got {}",
        what, ranks_, ranks_, recipe_.accumulate);
}

Task::Task(const Recipe& given, const TaskUse& use)
    : recipe_(given),
      ranks_(use.ranks),
      parts_(given.accumulate),
      only_measures_(use.only_measures),
      streams_weights_(use.streams_weights),
      weights_(use.weights) {
  Recipe recipe = given;
  const bool is_text = recipe.data.kind == "masked-text";
  if (recipe.loss != "cross-entropy")
    fail_usage("{}", unknown_name("loss", recipe.loss, {"cross-entropy"}));
  if (recipe.batch < 1 || recipe.accumulate < 1 || recipe.batch % recipe.accumulate != 0)
    fail_usage("batch {} is not divisible by {} parts", recipe.batch, recipe.accumulate);
  const DataRecipe& d = recipe.data;
  if (d.kind == "arrays" && d.features.empty() && d.inputs.empty())
    fail_usage("data.features: missing file of one array");
  if (d.kind == "arrays" && d.has_labels && d.labels.empty())
    fail_usage("{}: missing labels (see data.labels)",
               printable(d.features.empty() ? d.inputs.begin()->second : d.features));
  parts_ = std::lcm(recipe.accumulate, ranks_);
  if (recipe.batch % parts_ != 0)
    fail_usage("/batch: {} is not divisible by the {} parts of {} ranks", recipe.batch, parts_,
               ranks_);
  recipe.accumulate = parts_;  // for readers of the data
  if (recipe.model.kind == "mlp" || is_for_images(recipe.model)) {
    if (is_text || recipe.data.kind == "text")
      fail_usage("model {} needs data of rows or images, got {}", recipe.model.kind,
                 recipe.data.kind);
    if (recipe.model.kind == "mlp") check_size(parameters_of(recipe.model), "model.sizes");
    graph_ = classifier(recipe.model);
    check_size(parameters_of(*graph_), "model");
    if (is_for_images(recipe.model)) unused_ = image_model_unused();
    data_ = recipe.model.kind == "mlp"
                ? read_example_data(recipe)
                : read_image_data(recipe, recipe.model.channels, recipe.model.classes);
  } else if (recipe.model.kind == "bert") {
    if (!is_text && !is_labelled(recipe.data))
      fail_usage("model bert needs masked-text, labelled-text or labelled-words, got {}",
                 recipe.data.kind);
    const BertConfig config = BertConfig::read(recipe.model.config);
    check_size(config.parameters(), printable(recipe.model.config));
    BertParts parts{.loss = true, .dropout = recipe.model.dropout};
    parts.all_states = !only_measures_ && recipe.distillation && recipe.distillation->hidden > 0;
    if (is_text) {
      parts.selected = true;
      data_ = read_text_data(recipe, config.vocab_size, config.max_position_embeddings);
    } else {
      const bool classifies = head_of(recipe.data) == config.head;
      LabelledData d = read_labelled_data(recipe, config.vocab_size, config.max_position_embeddings,
                                          classifies ? config.labels : std::vector<std::string>());
      data_ = std::move(d.data);
      labels_ = std::move(d.labels);
      scorer_.emplace(labels_);
      parts.mask = true;
      parts.head = head_of(recipe.data);
      parts.classes = std::ssize(labels_);
    }
    graph_ = bert(config, parts);
    unused_ = bert_unused(head_of(recipe.data));
  } else if (is_decoder(recipe.model)) {
    if (recipe.data.kind != "text")
      fail_usage("model {} needs text, got {}", recipe.model.kind, recipe.data.kind);
    const std::string name = printable(recipe.model.config);
    CausalModel model = causal_model(read_config(recipe.model.config), name,
                                     {.loss = true, .dropout = recipe.model.dropout});
    check_size(parameters_of(model.graph), name);
    graph_ = std::move(model.graph);
    unused_ = std::move(model.unused);
    data_ = read_next_token_data(recipe, model.vocabulary, model.positions);
  } else if (is_from_file(recipe.model)) {
    if (recipe.data.kind == "text")
      fail_usage("model {} needs rows, images or masked-text, got text", recipe.model.kind);
    imported_ = read_imported(recipe.model, only_measures_,
                              weights_ && weights_->is_onnx() ? weights_.get() : nullptr);
    graph_ = imported_->graph;
    check_size(parameters_of(*graph_), imported_->name);
    data_ = is_text ? read_text_data(recipe, *imported_) : read_example_data(recipe, *imported_);
  } else {
    fail_usage("{}",
               unknown_name("model", recipe.model.kind,
                            {"mlp", "resnet", "wide-resnet", "bert", "decoder", "onnx", "graph"}));
  }
  check_ranks();
  evaluation_ = inference_graph(*graph_);
  model_ = graph_;
  if (recipe.lora) graph_ = with_lora(*model_, *recipe.lora);
  recipe_ = in_steps(given, given.steps ? given.steps : given.epochs * data_->steps_per_epoch());
}

bool Task::trains(const std::string& weight) const {
  return recipe_.lora ? !model_->find_weight(weight) : !graph_->is_statistic(weight);
}

std::shared_ptr<const Checkpoint> Task::first_checkpoint() const {
  if (weights_) return weights_;
  if (!recipe_.model.weights.empty())
    return std::make_shared<const Checkpoint>(Checkpoint::open(recipe_.model.weights));
  return onnx() ? std::shared_ptr<const Checkpoint>(imported_, onnx()) : nullptr;
}

NamedValues<Tensor> Task::weights_of(const Checkpoint& file, bool may_initialize) const {
  std::vector<std::string> may_lack;
  if (recipe_.model.kind == "bert" && may_initialize) may_lack = bert_new(head_of(recipe_.data));
  // The ONNX output needs weights of the file's dtypes.
  const LowWeights low = only_measures_   ? LowWeights::unchanged
                         : file.is_onnx() ? LowWeights::refused
                                          : LowWeights::widened;
  if (imported_) return load_imported(*model_, file, onnx(), imported_->not_weights, low);
  NamedValues<Tensor> all = load_weights(*model_, file, unused_, may_lack, low);
  std::string lacked;
  for (const Weight& w : model_->weights())
    if (!all.contains(w.name)) lacked += (lacked.empty() ? "" : ", ") + w.name;
  if (!lacked.empty())
    warn("{}: missing {} (initialized randomly from the seed)", file.name(), lacked);
  return all;
}

NamedValues<Tensor> Task::stored_weights(bool may_initialize) const {
  if (weights_) return weights_of(*weights_, may_initialize);
  if (recipe_.model.weights.empty()) return weights_of(*onnx());
  return weights_of(Checkpoint::open(recipe_.model.weights), may_initialize);
}

NamedValues<Tensor> Task::stored_weights() const { return stored_weights(false); }

std::unique_ptr<StoredWeights> Task::weights_by_name() const {
  if (imported_ || !weights_) return nullptr;
  return std::make_unique<StoredWeights>(*model_, *weights_, unused_, std::vector<std::string>(),
                                         LowWeights::unchanged);
}

NamedValues<Tensor> Task::teacher_weights() const {
  const std::string &named = recipe_.distillation->teacher, &own = recipe_.model.weights;
  if (named.empty() && own.empty() && !onnx())
    fail_usage("/distillation: missing teacher (the model starts with random weights)");
  NamedValues<Tensor> weights = named.empty() && own.empty()
                                    ? weights_of(*onnx())
                                    : weights_of(Checkpoint::open(named.empty() ? own : named));
  for (auto& [name, w] : weights) w = w.to_dense();
  return weights;
}

void Task::check_first_weights() const {
  if (onnx() || !recipe_.model.weights.empty()) stored_weights(true);
}

NamedValues<Tensor> Task::first_weights() const {
  if (!onnx() && recipe_.model.weights.empty()) return initial_weights(*graph_, recipe_.seed);
  NamedValues<Tensor> weights = stored_weights(true);
  for (auto& [name, w] : weights) w = w.to_dense();
  if (weights.size() < graph_->weights().size())
    weights.merge(initial_weights(*graph_, recipe_.seed));
  return weights;
}

std::vector<std::string> Task::onnx_data() const {
  std::vector<std::string> names;
  // External data in a folder are not supported; see why_not_onnx().
  if (onnx() && why_not_onnx(*model_, *onnx()).empty())
    for (const Shard& s : onnx()->shards())
      if (!s.file_name.empty()) names.push_back(s.file_name);
  return names;
}

std::vector<BatchPart> Task::batch(Index step, PartRange range) const {
  std::vector<BatchPart> parts = data_->batch(step, range);
  if (has_dropouts())
    for (BatchPart& p : parts) {
      const Index part = step * parts_ + p.number;
      Dense draw = Dense::zeros(DType::I64, {});
      draw.values.mutate<std::int64_t>()[0] = static_cast<std::int64_t>(
          random_bits(seed_for(recipe_.seed, draw_input), static_cast<std::uint64_t>(part)));
      p.inputs.emplace(draw_input, std::move(draw));
    }
  return parts;
}

void Task::check_validation() const {
  const auto require = [&](const std::string& key) {
    if (!has(DataSplit::validation))
      fail_usage("{}: the validation split is empty (see /data/validation)", key);
  };
  if (recipe_.evaluation.keep_best) require("/evaluation/keep_best");
  for (std::size_t i = 0; i < recipe_.sparsity.size(); ++i)
    if (recipe_.sparsity[i].schedule.prunes_until_recovered())
      require(fmt::format("/sparsity/{}/schedule/until", i));
  if (recipe_.evaluation.every > 0 && !has(DataSplit::validation))
    warn(
        "/evaluation/every: the validation split is empty: evaluated only at the end (see "
        "/data/validation)");
}

void Task::warn_of_low_weights() const {
  if (recipe_.model.weights.empty()) return;
  const Checkpoint file = Checkpoint::open(recipe_.model.weights);
  std::map<DType, Index> counts;
  for (const Weight& w : model_->weights())
    for (const CheckpointTensor* t : weight_entries(w, file))
      if (is_low_float(t->dtype)) ++counts[t->dtype];
  for (const auto& [dtype, n] : counts)
    warn("{}: {} tensor{} of {} converted to F32 for training", file.name(), n, n == 1 ? "" : "s",
         name_of(dtype));
}

void Task::warn_of_unmasked_zeros() const {
  if (recipe_.lora || (!onnx() && recipe_.model.weights.empty())) return;  // lora keeps zeros
  constexpr double least = 0.1;  // rounding and padding make fewer zeros
  NamedValues<Tensor> weights = stored_weights(true);
  for (const auto& names : match_targets(recipe_.sparsity, model_->weights()))
    for (const std::string& name : names) weights.erase(name);
  std::vector<std::string> pruned;
  for (const Weight& w : model_->weights()) {
    const auto at = weights.find(w.name);
    if (at == weights.end() || w.shape.size() < 2 || size_of(w.shape) == 0) continue;
    const double zeros = 1 - share_of_nonzeros(at->second);
    if (zeros >= least) pruned.push_back(fmt::format("{} ({:.1f} %)", w.name, 100 * zeros));
  }
  if (!pruned.empty())
    warn("{}: training replaces the zeros of {} weight{} that no target of /sparsity matches: {}",
         first_checkpoint()->name(), pruned.size(), pruned.size() == 1 ? "" : "s",
         name_list(pruned));
}

std::string Task::content() const { return fmt::format("{:016x}", data_->content()); }

Graph Task::measured_graph(std::optional<Index> step) const {
  // The replacement of a dropout keeps its format.
  if (recipe_.formats.empty()) return *evaluation_;
  return inference_graph(with_value_formats(*model_, recipe_, step.value_or(recipe_.steps - 1)));
}

Measured Task::measure(const NamedValues<Tensor>& weights, DataSplit s,
                       std::optional<Index> step) const {
  PredictionSums sums;
  const Graph graph = measured_graph(step);
  const std::string &logits = graph_->outputs().front(), &labels = evaluation_->inputs().back();
  const Device device = weights.empty() ? Device::cpu : weights.begin()->second.device();
  for (Index i = 0; i < data_->parts(s); ++i) {
    const BatchPart part = data_->part(s, i);
    if (part.predictions == 0) continue;
    const BatchPart device_part = on_device(part, device);
    const Dense y =
        graph.run<Tensor>(weights, device_part.inputs).at(logits).to_dense().to(Device::cpu);
    sums += predictions_of(y, part.inputs.at(labels).as<Dense>(), scorer());
  }
  return sums.measured();
}

}  // namespace sten
