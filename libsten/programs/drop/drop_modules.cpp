// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/drop/drop_modules.h"

#include <chrono>
#include <filesystem>
#include <map>

#include "libsten/compute/linalg/dense_gemm.h"
#include "libsten/core/base/cuda.h"
#include "libsten/core/base/error.h"
#include "libsten/core/base/fallback.h"
#include "libsten/core/base/text.h"
#include "libsten/files/checkpoint/weight_names.h"
#include "libsten/files/system/paths.h"
#include "libsten/model/graph/node_errors.h"
#include "libsten/model/nn/config_file.h"
#include "libsten/model/nn/weights.h"
#include "libsten/programs/drop/drop_report.h"
#include "libsten/programs/drop/module_removal.h"

namespace sten {
namespace {

namespace fs = std::filesystem;

constexpr const char* config_name = "config.json";

void check_options(const DropOptions& o) {
  for (const auto& [flag, count] :
       {std::pair("--drop-layers", o.layers), std::pair("--drop-experts", o.experts)})
    if (count && *count < 1) fail_usage("{} must be >= 1, got {}", flag, *count);
  if (o.calibration.data.empty()) fail_usage("{} needs --calibrate DATA", o.flag());
  check_sizes(o.calibration);
  std::error_code none;
  if (o.input == "-" || (fs::exists(o.input, none) && !fs::is_directory(o.input, none)))
    fail_usage("{}: {} expected a Hugging Face directory, got {}", printable(o.input), o.flag(),
               o.input == "-" ? "standard input" : "a file");
  if (is_gguf_name(o.output.path))
    fail_usage("{}: {} expected a directory as -o, got a GGUF file", printable(o.output.path),
               o.flag());
}

// The options that decide the output, for its provenance.
Options values_of(const DropOptions& o) {
  Options values;
  if (o.layers) values.emplace_back("drop_layers", fmt::format("{}", *o.layers));
  if (o.experts) values.emplace_back("drop_experts", fmt::format("{}", *o.experts));
  values.emplace_back("calibrated_on", fmt::format("{} rows", o.calibration.rows()));
  return values;
}

Index elements_of(const Checkpoint& c) {
  Index elements = 0;
  for (const CheckpointTensor& t : c.tensors()) elements += size_of(t.shape);
  return elements;
}

class Removal {
 public:
  explicit Removal(const DropOptions& o)
      : o_(o),
        rewrite_(o.input, o.output, "sten-prune", values_of(o)),
        source_(find_model(o.input)) {
    check_model();
    config_ = read_config(source_.what.model.config);
    layers_ = causal_layers(config_, config_path());
    check_counts();
  }

  Outcome run() {
    const auto start = std::chrono::steady_clock::now();
    std::optional<UseDenseLibrary> products;  // fixed, so that all runs have the same bits
    if (const DenseLibrary* blas = find_dense_library("OpenBLAS")) products.emplace(*blas);
    const Task task = task_of(source_, calibration_recipe(o_.calibration, source_), true);
    ModelWeights model(task);
    const CalibrationBatches batches(task, model.graph(), o_.calibration.rows(), false);
    check_calibration_inputs(task.recipe(), batches.inputs, o_.calibration.data);
    const ModuleScores scores = with_model_file(
        [&] { return source_.name; },
        [&] { return score_modules(model, layers_, batches.inputs, o_.show_progress); });
    const KeptModules kept = choose(scores);
    const std::string config =
        reduced_config(config_, config_path(), kept.layers, kept.expert_count);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    Outcome outcome{drop_report(layers_, scores, kept), std::nullopt, {}};
    Report& r = outcome.report;
    r.notes.push_back(fmt::format(
        "calibrated on {} rows of {} ({} positions) in {:.1f} s, with up to {} of values{}",
        batches.rows, printable(o_.calibration.data), scores.positions, time.count(),
        human_bytes(static_cast<std::uint64_t>(scores.most_bytes)),
        scores.is_rounded ? " in bfloat16" : ""));
    rewrite_.add_notes(r);
    write({layers_, model.graph(), kept.layers, kept.experts}, config, r);
    return outcome;
  }

 private:
  std::string config_path() const { return printable(source_.what.model.config); }

  void check_model() const {
    const ModelRecipe& m = source_.what.model;
    const bool has_graph = source_.weights->is_onnx() || source_.weights->gguf();
    if (!source_.what.is_known() || !is_decoder(m) || has_graph)
      fail_usage("{}: {} expected a causal language model, got {}", source_.name, o_.flag(),
                 !source_.what.is_known()     ? "only weights"
                 : source_.weights->is_onnx() ? "an ONNX model"
                 : source_.weights->gguf()    ? "a GGUF file"
                                              : "a model of kind " + m.kind);
    std::error_code none;
    if (!fs::equivalent(m.config, fs::path(o_.input) / config_name, none))
      fail_usage("{}: {} expected a {} in the directory", source_.name, o_.flag(), config_name);
    for (const Shard& shard : source_.weights->shards())
      for (const auto& [key, value] : shard.metadata)
        if (key == formats_key)
          fail_usage("{}: {} expected a model without formats by layer, got metadata {}",
                     source_.name, o_.flag(), quote(formats_key));
  }

  void check_counts() const {
    const auto check = [&](const char* flag, std::optional<Index> count, Index most,
                           const std::string& reason) {
      if (count && *count > most)
        fail_usage("{}: {} must be at most {}, {}, got {}", source_.name, flag, most, reason,
                   *count);
    };
    check("--drop-layers", o_.layers, layers_.count - 1,
          fmt::format("since the model has {} layers", layers_.count));
    if (!o_.experts) return;
    if (!layers_.mixture)
      fail_usage("{}: --drop-experts expected a mixture of experts, got model_type {}",
                 source_.name, quote(layers_.model_type));
    const CausalLayers::Mixture& m = *layers_.mixture;
    check(
        "--drop-experts", o_.experts, m.count - m.top_k,
        fmt::format("since tokens have {} of {} experts (num_experts_per_tok)", m.top_k, m.count));
  }

  KeptModules choose(const ModuleScores& scores) const {
    KeptModules kept;
    kept.layers = largest(scores.influence, o_.layers.value_or(0));
    if (!o_.experts) return kept;
    kept.expert_count = layers_.mixture->count - *o_.experts;
    for (const std::vector<double>& weights : scores.router_weights)
      kept.experts.push_back(weights.empty() ? std::vector<Index>()
                                             : largest(weights, *o_.experts));
    return kept;
  }

  void write(const ModuleRemoval& removal, const std::string& config, Report& r) {
    const Index elements_before = elements_of(rewrite_.input());
    std::map<std::string, const std::vector<Index>*> rows;  // by new name
    rewrite_.rename([&](const std::string& tensor) {
      std::optional<std::string> name = removal.name_of(tensor);
      if (name) rows.emplace(*name, removal.rows_of(tensor));
      return name;
    });
    const std::vector<CheckpointTensor>& tensors = rewrite_.input().tensors();
    std::vector<std::optional<Spec>> changed(tensors.size());
    Index elements = elements_of(rewrite_.input());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const std::vector<Index>* left = rows.at(tensors[i].name);
      if (!left) continue;
      if (tensors[i].is_sparse() || tensors[i].shape.empty() ||
          tensors[i].shape[0] != layers_.mixture->count)
        fail_usage("{}: {}: --drop-experts expected a dense tensor of {} rows, got {} of shape {}",
                   source_.name, quote(tensors[i].name), layers_.mixture->count,
                   tensors[i].layout.name(), to_string(tensors[i].shape));
      Shape shape = tensors[i].shape;
      shape[0] = std::ssize(*left);
      elements -= size_of(tensors[i].shape) - size_of(shape);
      rewrite_.set_shape(i, std::move(shape));
      changed[i] = Spec("dense");
    }
    rewrite_.replace_companion(config_name, config);
    rewrite_.run(changed, o_.show_progress, [&](std::size_t i) -> Tensor {
      return rows_of(rewrite_.input().load(tensors[i]).to_dense(), *rows.at(tensors[i].name));
    });
    add_sizes(elements_before, elements, r);
  }

  void add_sizes(Index before, Index elements, Report& r) {
    const std::uint64_t file_before = rewrite_.input().file_bytes();
    const std::uint64_t after = rewrite_.commit();
    std::string note = fmt::format("{} parameters before, {} after", before, elements);
    r.facts.insert(r.facts.begin(), {"input", rewrite_.input().name()});
    r.facts.emplace_back("parameters_before", before);
    r.facts.emplace_back("parameters_after", elements);
    r.facts.emplace_back("file_bytes_before", static_cast<Index>(file_before));
    if (!o_.output.dry_run) {
      r.facts.emplace_back("file_bytes_after", static_cast<Index>(after));
      note +=
          fmt::format("; file {} before, {} after", human_bytes(file_before), human_bytes(after));
    }
    r.notes.push_back(std::move(note));
  }

  const DropOptions& o_;
  Rewrite rewrite_;
  ModelSource source_;
  std::string config_;
  CausalLayers layers_;
};

}  // namespace

Outcome drop_modules(const DropOptions& options) {
  check_options(options);
  if (const Device device = use_device(options.device); device != Device::cpu)
    report_on_cpu("calibration", device);
  return Removal(options).run();
}

}  // namespace sten
