// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/run/run_model.h"

#include <algorithm>
#include <cmath>

#include "libsten/compute/linalg/dense_gemm.h"
#include "libsten/core/base/cuda.h"
#include "libsten/core/base/text.h"
#include "libsten/model/graph/node_errors.h"
#include "libsten/programs/run/fill_text.h"
#include "libsten/programs/run/given_inputs.h"
#include "libsten/programs/run/model_comparison.h"
#include "libsten/programs/run/model_execution.h"
#include "libsten/programs/run/named_outputs.h"
#include "libsten/report/progress.h"
#include "libsten/training/task/predictions.h"

namespace sten {
namespace {

// The first requested check, such as "--min-accuracy"; nullptr if none.
const char* check_of(const RunChecks& o) {
  return o.min_accuracy     ? "--min-accuracy"
         : o.max_loss       ? "--max-loss"
         : o.max_perplexity ? "--max-perplexity"
         : o.max_difference ? "--max-difference"
         : o.min_agreement  ? "--min-agreement"
         : o.fail_if_slower ? "--fail-if-slower"
                            : nullptr;
}

// Standard input can be read only once.
void check_standard_input(const RunOptions& o) {
  std::vector<const char*> readers;
  if (o.model.path == "-") readers.push_back("the model");
  for (const std::string& input : o.data.inputs)
    if (input == "-" || input.ends_with("=-")) readers.push_back("an --input");
  if (o.generation.prompt.file == "-" || o.generation.prompt.list == "-")
    readers.push_back("the prompt");
  if (o.data.labels == "-") readers.push_back("the --labels");
  if (o.against == "-") readers.push_back("the model --against");
  if (readers.size() > 1)
    fail_usage("standard input cannot be both {} and {}", readers[0], readers[1]);
}

void check_options(const RunOptions& o) {
  const DataOptions& d = o.data;
  const RunChecks& c = o.checks;
  check_standard_input(o);
  check_fraction("--min-accuracy", c.min_accuracy);
  check_fraction("--min-agreement", c.min_agreement);
  if (c.max_difference && !(*c.max_difference >= 0))
    fail_usage("--max-difference must be >= 0, got {}", *c.max_difference);
  if (c.max_loss && std::isnan(*c.max_loss))
    fail_usage("--max-loss must be a number, got {}", *c.max_loss);
  if (c.max_perplexity && std::isnan(*c.max_perplexity))
    fail_usage("--max-perplexity must be a number, got {}", *c.max_perplexity);
  if (!d.inputs.empty() && (d.window > 0 || d.stride > 0))
    fail_usage("{} needs --data, got --input", d.window > 0 ? "--window" : "--stride");
  if (!d.inputs.empty() && !d.path.empty()) fail_usage("--input and --data exclude each other");
  if (!d.labels.empty() && d.inputs.empty())
    fail_usage("--labels needs --input (--data has its own labels)");
  if (!d.split.empty() && !d.inputs.empty()) fail_usage("--split needs --data, got --input");
  if (o.against.empty() && (c.max_difference || c.min_agreement))
    fail_usage("{} needs --against MODEL",
               c.max_difference ? "--max-difference" : "--min-agreement");
  if (!d.inputs.empty() && d.labels.empty() && (c.min_accuracy || c.max_loss))
    fail_usage("{} needs --labels or --data", c.min_accuracy ? "--min-accuracy" : "--max-loss");
}

// Whether any option chooses data, outputs or another model.
bool is_on_data(const RunOptions& o) {
  const DataOptions& d = o.data;
  return !d.inputs.empty() || !d.path.empty() || !d.labels.empty() || !d.split.empty() ||
         d.window > 0 || d.stride > 0 || !o.against.empty() || !o.outputs.empty();
}

void check_fill_options(const RunOptions& o) {
  if (is_on_data(o))
    fail_usage("--fill excludes --input, --data, --labels, --split, --against and -o");
  if (o.data.batch > 0 || o.model.repeats > 0 || o.model.explain)
    fail_usage("--fill excludes --batch, --repeats and --explain");
  if (const char* check = check_of(o.checks)) fail_usage("--fill excludes {}", check);
}

void check_generate_options(const RunOptions& o) {
  check_standard_input(o);
  if (is_on_data(o) || !o.fill.empty())
    fail_usage("--generate excludes --input, --data, --labels, --split, --fill, --against and -o");
  if (o.model.repeats > 0) fail_usage("--generate excludes --repeats");
  if (o.generation.batch > 0 && !o.generation.prompt.is_list())
    fail_usage("--batch needs --prompts");
  RunChecks of_outputs = o.checks;
  of_outputs.fail_if_slower = false;
  if (const char* check = check_of(of_outputs)) fail_usage("--generate excludes {}", check);
}

// Describes weights alone by `config`, or as the other source.
void complete(ModelSource& source, const std::string& config, const Recipe* data,
              const ModelDescription* other) {
  if (!config.empty() && !source.what.is_known()) {
    source.what = describe_model(config);
  } else if (!source.what.is_known() && data && !data->model.kind.empty()) {
    source.what.model = data->model;
    source.what.vocabulary = data->data.vocabulary;
  } else if (!source.what.is_known() && other) {
    source.what = *other;
  }
}

// Checks that labels are valid classes.
void check_labels(const Dense& logits, const Dense& labels, const std::string& output) {
  const Shape& of = logits.extents;
  if (logits.dtype() != DType::F32 || of.empty() ||
      Shape(of.begin(), of.end() - 1) != labels.extents)
    fail("output {} is {} {}: expected logits for labels of shape {}", quote(output),
         name_of(logits.dtype()), to_string(of), to_string(labels.extents));
  for (const std::int64_t y : labels.values.as<std::int64_t>())
    if (y != ignored_label && (y < 0 || y >= of.back()))
      fail("label {} is out of range: output {} has {} classes", y, quote(output), of.back());
}

// Refuses options that need the CPU.
void check_device_options(const RunOptions& o) {
  if (o.model.device.is_cpu()) return;
  const auto refuse = [&](const char* what) {
    fail_usage("{} needs --device cpu, got {}", what, quote(o.model.device.str()));
  };
  if (!o.model.precision.empty()) refuse("--precision");
  if (o.checks.fail_if_slower) refuse("--fail-if-slower");
  if (o.generation.text.count > 0) refuse("--generate");
  if (std::ranges::count(o.model.layouts, "auto") > 0) refuse("--layouts auto");
}

class ModelRun {
 public:
  explicit ModelRun(const RunOptions& o) : o_(o) {
    check_options(o);
    device_ = use_device(o.model.device);
    source_ = find_model(o.model.path);
    std::optional<ModelSource> other;
    if (!o.against.empty()) other = find_model(o.against);
    const std::string& config = o.model.config;
    if (!config.empty() && source_.what.is_known() && !(other && !other->what.is_known()))
      fail_usage("--config: expected a weights-only model, got {}, which has an architecture",
                 source_.name);
    const bool has_data = o.data.inputs.empty();
    // For pruned weights, the recipe of the model that they come from.
    if (!source_.recipe && other) source_.recipe = other->recipe;
    if (has_data && o.data.path.empty() && !source_.recipe)
      fail_usage("{}: missing inputs: name arrays with --input, or a recipe or file with --data",
                 source_.name);
    std::optional<Recipe> recipe;
    if (has_data) recipe = data_recipe(source_, o.data);
    const Recipe* given = recipe && o.data.path.ends_with(".json") ? &*recipe : nullptr;
    complete(source_, config, given, other ? &other->what : nullptr);
    data_ = has_data ? data_of_recipe(source_, *recipe, o.data) : data_of_inputs(source_, o.data);
    if (o.checks.max_perplexity && !data_->is_text())
      fail_usage("--max-perplexity needs a text and a causal language model");
    model_ = data_->model(source_);
    files_.emplace(o.outputs, model_->graph.outputs(), model_->name, o.force);
    for (const std::string& name : model_->graph.outputs())
      outputs_.emplace_back(name, files_->wants(name));
    if (!other) return;
    complete(*other, config, given, &source_.what);
    comparison_.emplace(*std::move(other), has_data ? &*recipe : nullptr, o.data, *data_, *model_);
  }

  Outcome run() {
    const Index n = data_->batches();
    NamedValues<Tensor> first;
    if (!o_.model.layouts.empty()) first = data_->batch(0).inputs;
    execution_.emplace(o_.model, device_, *model_, first);
    first.clear();
    if (comparison_) comparison_->start(device_);
    {
      Progress progress("sten-run", static_cast<std::uint64_t>(n), o_.show_progress, "batches");
      for (Index i = 0; i < n; ++i) {
        run_batch(i);
        progress.add(1);
      }
    }
    return finish();
  }

 private:
  void run_batch(Index i) {
    RunBatch batch = data_->batch(i);
    for (auto& [name, x] : batch.inputs) x = x.to(device_);
    const NamedValues<Tensor> outputs = with_model_file(
        [&] { return model_->name; }, [&] { return execution_->run(batch.inputs); });
    if (i == 0) execution_->check_speed(batch.inputs, o_.checks.fail_if_slower);
    execution_->time(batch.inputs, batch.rows);
    if (comparison_) comparison_->run(i, batch.inputs);
    for (std::size_t k = 0; k < outputs_.size(); ++k) {
      const Dense x = outputs.at(outputs_[k].name()).to_dense().to(Device::cpu);
      outputs_[k].add(x);
      // Rows of tokens that are not predicted do not count.
      const bool has_rows = data_->is_text() || !data_->questions().empty();
      if (comparison_) comparison_->add(k, x, has_rows && k == 0 ? &*batch.labels : nullptr);
      if (k > 0 || !batch.labels) continue;
      check_labels(x, *batch.labels, outputs_[k].name());
      measure(x, *batch.labels);
    }
    rows_ += batch.rows;
  }

  void measure(const Dense& logits, const Dense& labels) {
    if (data_->questions().empty()) {
      sums_ += predictions_of(logits, labels, data_->scorer());
      return;
    }
    for (Index r = 0; r < labels.extents.front(); ++r)
      likelihoods_.push_back(
          -predictions_of(rows_of(logits, r, r + 1), rows_of(labels, r, r + 1)).loss);
  }

  Report report() const;
  // The first failed check; "" if all hold.
  std::string failure() const;
  Outcome finish();

  const RunOptions& o_;
  Device device_ = Device::cpu;
  ModelSource source_;
  std::unique_ptr<RunData> data_;
  std::optional<RunnableModel> model_;
  std::optional<ModelExecution> execution_;
  std::optional<ModelComparison> comparison_;
  std::optional<OutputFiles> files_;
  std::vector<CollectedOutput> outputs_;
  PredictionSums sums_;
  std::vector<double> likelihoods_;  // of choices
  Index rows_ = 0;
};

Report ModelRun::report() const {
  Report r;
  r.program = "sten-run";
  r.item = "outputs";
  r.columns = {{"name", "output", Unit::text},
               {"dtype", "dtype", Unit::text},
               {"shape", "shape", Unit::shape},
               {"least", "least", Unit::measured},
               {"mean", "mean", Unit::measured},
               {"most", "most", Unit::measured},
               {"not_finite", "not finite", Unit::count},
               {"max_difference", "largest difference", Unit::measured},
               {"mean_difference", "mean difference", Unit::measured}};
  r.optional_columns = {"least", "most", "mean", "dtype"};
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    const CollectedOutput& o = outputs_[k];
    auto& row = r.rows.emplace_back();
    r.at(row, "name") = o.name();
    r.at(row, "dtype") = std::string(name_of(o.dtype()));
    r.at(row, "shape") = o.shape();
    if (o.finite() > 0) {
      r.at(row, "least") = o.least();
      r.at(row, "mean") = o.mean();
      r.at(row, "most") = o.most();
    }
    if (o.not_finite()) r.at(row, "not_finite") = o.not_finite();
    if (!comparison_ || comparison_->difference(k).count == 0) continue;
    r.at(row, "max_difference") = comparison_->difference(k).largest;
    r.at(row, "mean_difference") = comparison_->difference(k).mean();
  }
  r.facts = {{"model", model_->name}, {"batches", data_->batches()}, {"rows", rows_}};
  r.figures = {{"accuracy", Unit::fraction, "accuracy"},
               {"accuracy by length", Unit::fraction, "accuracy_norm"},
               {"F1", Unit::fraction, "f1"},
               {"loss", Unit::ratio, "loss"},
               {"perplexity", Unit::measured, "perplexity"},
               {"median time of a batch", Unit::seconds, "latency/p50"},
               {"rows per second", Unit::measured, "throughput"},
               {"same top class", Unit::fraction, "against/agreement"},
               {"largest difference", Unit::measured, "against/max_difference"}};
  const std::string split = data_->split();
  if (!split.empty()) r.facts.emplace_back("split", split);
  for (const std::string& line : data_->notes()) r.notes.push_back(line);
  if (const Measured m = sums_.measured(); m.count > 0) {
    r.facts.emplace_back("loss", m.loss);
    r.facts.emplace_back("accuracy", m.accuracy);
    r.facts.emplace_back("count", m.count);
    std::string line =
        fmt::format("{}loss {:.4f}, accuracy {:.2f} % of {} predictions",
                    split.empty() ? "" : split + ": ", m.loss, 100 * m.accuracy, m.count);
    if (data_->is_text()) {
      r.facts.emplace_back("perplexity", std::exp(m.loss));
      line += fmt::format(", perplexity {:.4f}", std::exp(m.loss));
    }
    if (m.f1 && data_->scorer()) {
      r.facts.emplace_back("f1", *m.f1);
      line += fmt::format(", {} {:.2f} %", name_of(data_->scorer()->kind()), 100 * *m.f1);
    }
    r.notes.push_back(std::move(line));
  }
  if (!data_->questions().empty()) add_accuracies(data_->questions(), likelihoods_, r);
  if (comparison_) comparison_->add_to(r);
  execution_->add_to(r);
  if (device_ == Device::cpu) return r;
  r.facts.emplace_back("device", o_.model.device.str());
  if (o_.model.repeats > 0)
    r.notes.push_back(fmt::format(
        "runs on {} were timed until it was done; inputs were there, and outputs stayed there",
        o_.model.device.str()));
  if (o_.model.explain)
    r.notes.push_back(fmt::format("steps on {} were timed in a run that waits for it after each",
                                  o_.model.device.str()));
  return r;
}

std::string ModelRun::failure() const {
  const RunChecks& c = o_.checks;
  Measured m = sums_.measured();
  if (const auto questions = data_->questions(); !questions.empty() && !c.max_loss) {
    m.accuracy = choice_accuracy(questions, likelihoods_).accuracy;
    m.count = std::ssize(questions);
  }
  if ((c.min_accuracy || c.max_loss || c.max_perplexity) && m.count == 0)
    return "no label counts, so that the loss is undefined";
  if (c.min_agreement && comparison_->logits().rows == 0)
    return "the first output has no classes to agree on";
  if (c.min_accuracy && !(m.accuracy >= *c.min_accuracy))
    return fmt::format("the accuracy is {:.6g}, below --min-accuracy {:g}", m.accuracy,
                       *c.min_accuracy);
  if (c.max_loss && !(m.loss <= *c.max_loss))
    return fmt::format("the loss is {:.6g}, above --max-loss {:g}", m.loss, *c.max_loss);
  if (c.max_perplexity && !(std::exp(m.loss) <= *c.max_perplexity))
    return fmt::format("the perplexity is {:.6g}, above --max-perplexity {:g}", std::exp(m.loss),
                       *c.max_perplexity);
  if (c.max_difference && !(comparison_->largest_difference() <= *c.max_difference))
    return fmt::format("the largest difference is {:.6g}, above --max-difference {:g}",
                       comparison_->largest_difference(), *c.max_difference);
  if (c.min_agreement && !(comparison_->logits().agreement() >= *c.min_agreement))
    return fmt::format("the same top class have {:.6g} of the rows, below --min-agreement {:g}",
                       comparison_->logits().agreement(), *c.min_agreement);
  if (c.fail_if_slower && !execution_->slower().empty()) return describe(execution_->slower());
  return "";
}

Outcome ModelRun::finish() {
  Outcome outcome{report(),
                  std::nullopt,
                  {"this process multiplies dense matrices by " + dense_library().name}};
  if (const std::string why = failure(); !why.empty()) {
    outcome.failure = Error(Fault::check, why);
    return outcome;
  }
  for (std::string& line : files_->write(outputs_)) outcome.report.notes.push_back(std::move(line));
  return outcome;
}

}  // namespace

Outcome run_model(const RunOptions& o) {
  check_device_options(o);
  const GenerationOptions& g = o.generation;
  if (g.text.count > 0) {
    check_generate_options(o);
    return generate_text(o.model, g);
  }
  if (g.prompt.is_given()) fail_usage("--prompt needs --generate N");
  if (g.text.has_options()) fail_usage("options of text generation need --generate N");
  if (o.fill.empty()) return ModelRun(o).run();
  check_fill_options(o);
  return fill_text(o.model, o.fill);
}

}  // namespace sten
