// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/train/train.h"

#include <chrono>
#include <cmath>
#include <filesystem>

#include "libsten/compute/linalg/dense_gemm.h"
#include "libsten/core/base/cuda.h"
#include "libsten/core/base/log.h"
#include "libsten/core/base/text.h"
#include "libsten/core/registry/route.h"
#include "libsten/data/tokenizer/tokenizer.h"
#include "libsten/files/checkpoint/companion_files.h"
#include "libsten/files/checkpoint/config_dtype.h"
#include "libsten/files/system/data_file.h"
#include "libsten/model/graph/node_errors.h"
#include "libsten/model/nn/bert.h"
#include "libsten/model/nn/config_file.h"
#include "libsten/model/nn/weights.h"
#include "libsten/programs/measure/measure.h"
#include "libsten/programs/train/train_progress.h"
#include "libsten/programs/train/train_report.h"
#include "libsten/training/comm/comm_self.h"
#include "libsten/training/comm/together.h"
#include "libsten/training/task/recipe_model.h"
#include "libsten/training/trainer/buffers.h"
#include "libsten/training/trainer/rank_agreement.h"
#include "libsten/training/trainer/run_directory.h"
#include "libsten/training/trainer/state_exchange.h"

namespace sten {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const std::string& path) {
  const MappedFile file = open_data(path);
  return std::string(text_of(file.bytes()));
}

class Training {
 public:
  explicit Training(const TrainOptions& o)
      : o_(o),
        ranks_(o.ranks ? o.ranks : comm_self()),
        device_(use_device(o.device, ranks_->rank())),
        task_(std::make_shared<const Task>(read_recipe(o.recipe, o.set),
                                           TaskUse{.ranks = ranks_->size()})),
        buffers_(*task_),
        trainer_(task_, ranks_, {device_, TrainerOptions::usual_read_every}) {
    check_agreement(*ranks_, trainer_);
    manifest_.ranks = ranks_->size();
    manifest_.device = device_;
    // Reports errors in recipe and data before anything is written.
    task_->check_validation();
    task_->warn_of_low_weights();
    task_->warn_of_unmasked_zeros();
    try_sparsity(trainer_.stages(), task_->model());
    // Read now, since the files may be gone at the end of the run.
    copies_ = files_beside(*task_);
    products_.emplace(agreed_products(*ranks_, recipe()));
    on_first_rank(*ranks_, [&] {
      directory_.emplace(o.out, task_->recipe(), mode_of(o), task_->onnx_data());
    });
  }

  TrainOutcome run() {
    begin();
    TrainProgress progress(trainer_.state().step, task_->steps(), o_.show_progress && directory_);
    while (!trainer_.is_done()) {
      if (on_any_rank(*ranks_, o_.stop && o_.stop())) {
        save();
        return {{}, trainer_.state().step};
      }
      TrainStep s = trainer_.step();
      const bool has_loss = s.predictions > 0;
      if (has_loss && !has_loss_) trainer_.read(s);
      has_loss_ |= has_loss;
      progress.show(s.step + 1, has_loss ? std::optional(s.loss) : std::nullopt,
                    trainer_.sparsity(), s.rate);
      after_step(s);
    }
    progress.clear();
    TrainOutcome over;
    on_first_rank(*ranks_, [&] { over.outcome = finish(); });
    return over;
  }

 private:
  static RunMode mode_of(const TrainOptions& o) {
    if (o.resume && o.force) fail_usage("--resume and --force exclude each other");
    return o.resume ? RunMode::resume : o.force ? RunMode::replace : RunMode::fresh;
  }
  const Recipe& recipe() const { return task_->recipe(); }
  double seconds() const {
    const std::chrono::duration<double> s = std::chrono::steady_clock::now() - start_;
    return seconds_before_ + s.count();
  }

  // Rank 0 reads the state of the run; the other ranks receive it.
  void begin() {
    std::optional<TrainCheckpoint> last;
    on_first_rank(*ranks_, [&] { last = directory_->last_checkpoint(task_->graph()); });
    const bool goes_on = on_any_rank(*ranks_, last.has_value());
    if (goes_on)
      products_.emplace(agreed_products(*ranks_, recipe(), last ? last->machine.products : ""));
    TrainState state;
    on_first_rank(*ranks_, [&] {
      if (last)
        state = take_over(*std::move(last));
      else
        start();
    });
    if (!goes_on) return;
    if (ranks_->size() > 1) broadcast_state(*ranks_, state);
    trainer_.restore(std::move(state));
    saved_ = trainer_.state().step;
    on_first_rank(*ranks_, [&] {
      directory_->cut_metrics(&manifest_);
      const auto lines = directory_->metrics();
      if (!lines.empty()) seconds_before_ = lines.back().seconds;
      if (o_.say) o_.say(fmt::format("continues after step {} of {}", saved_, task_->steps()));
    });
  }

  void start() {
    directory_->cut_metrics(nullptr);
    manifest_.data = task_->content();
    manifest_.first_weights = trainer_.first_weights();
    manifest_.teacher = trainer_.teacher();
    manifest_.validation_before = task_->measure(trainer_.weights(), DataSplit::validation, 0);
    if (recipe().evaluation.test)
      manifest_.test_before = task_->measure(trainer_.weights(), DataSplit::test, 0);
  }

  TrainState take_over(TrainCheckpoint last) {
    const RunMachine here = RunMachine::here(ranks_->size(), device_);
    if (last.machine.version != here.version)
      fail_usage("{}: contains a run of version {}, this is version {}; --force replaces the run",
                 printable(o_.out), last.machine.version, here.version);
    if (last.manifest.data != task_->content())
      fail_usage("{}: contains a different run: the data changed; --force replaces the run",
                 printable(o_.out));
    if (last.manifest.first_weights != trainer_.first_weights())
      fail_usage("{}: contains a different run: model.weights changed; --force replaces the run",
                 printable(o_.out));
    if (last.manifest.teacher != trainer_.teacher())
      fail_usage(
          "{}: contains a different run: the weights of the teacher changed; --force replaces "
          "the run",
          printable(o_.out));
    if (last.machine.text() != here.text())
      warn(
          "{}: the run started with {} and continues with {}: results will differ slightly from "
          "those of an uninterrupted run",
          printable(o_.out), last.machine.text(), here.text());
    manifest_ = std::move(last.manifest);
    manifest_.ranks = ranks_->size();
    manifest_.device = device_;
    return std::move(last.state);
  }

  void after_step(TrainStep& s) {
    const Index done = trainer_.state().step;
    traffic_ = s.traffic;
    if (directory_) write_metrics(s);
    const Index keep = recipe().checkpoint_every;
    if (trainer_.is_done() || (keep > 0 && done % keep == 0)) save();
  }

  void write_metrics(TrainStep& s) {
    const Index done = trainer_.state().step;
    if (recipe().log_every > 0 && (done % recipe().log_every == 0 || trainer_.is_done())) {
      trainer_.read(s);
      MetricsLine line{done, "", s.loss, trainer_.sparsity(), seconds(), s.rate, {}, {}};
      line.has_loss = s.predictions > 0;
      if (recipe().clip > 0 && line.has_loss) line.norm = s.norm;
      directory_->log(line);
    }
    const Index every = recipe().evaluation.every;
    if (!trainer_.is_done() && (every == 0 || done % every != 0)) return;
    trainer_.read(s);
    validate();
  }

  void log(const std::string& split, const Measured& m) {
    directory_->log({trainer_.state().step,
                     split,
                     m.loss,
                     trainer_.sparsity(),
                     seconds(),
                     {},
                     {},
                     m.accuracy,
                     m.f1});
  }

  void validate() {
    last_validation_ =
        task_->measure(trainer_.weights(), DataSplit::validation, trainer_.state().step - 1);
    if (last_validation_.count == 0) return;
    log("validation", last_validation_);
    if (!recipe().evaluation.keep_best || !trainer_.is_sparse_as_planned()) return;
    // NaN is never the best.
    if (std::isnan(last_validation_.loss)) return;
    if (manifest_.best_step && !(last_validation_.loss < manifest_.best_loss)) return;
    manifest_.best_step = trainer_.state().step;
    manifest_.best_loss = last_validation_.loss;
    // Shared until the next step.
    manifest_.best_weights = on_cpu(trainer_.weights());
  }

  void save() {
    const Index step = trainer_.state().step;
    if (step == saved_) return;
    TrainStep last;
    trainer_.read(last);  // whether the loss was read
    for (const Parameter& p : trainer_.state().parameters)
      if (first_not_finite(p.value.to_dense()))
        fail(
            "step {}: {} became NaN or infinite (try a lower optimizer.rate, a longer rate.warmup "
            "or clip)",
            step - 1, quote(p.name));
    trainer_.check_ranks();
    TrainState state = trainer_.state();
    gather_residuals(*ranks_, state);
    on_first_rank(*ranks_, [&] {
      directory_->add_checkpoint(task_->graph(), on_cpu(std::move(state)), manifest_,
                                 recipe().keep_checkpoints);
    });
    saved_ = step;
  }

  Metadata metadata() const {
    const Recipe& r = recipe();
    Options options{
        {"recipe", r.name}, {"steps", std::to_string(r.steps)}, {"seed", std::to_string(r.seed)}};
    for (const SparsityRecipe& s : r.sparsity)
      options.emplace_back("sparsity", s.target + "=" + s.sparsifier.str() +
                                           (s.is_global() ? " (scope global)" : ""));
    return with_provenance({{"format", "pt"}}, "sten-train", options);
  }

  Measured measure_on_device(NamedValues<Tensor> weights, DataSplit split) const {
    for (auto& [name, w] : weights) w = w.to(device_);
    return task_->measure(weights, split);
  }

  Outcome finish() {
    const bool is_best = manifest_.best_step && *manifest_.best_step != task_->steps();
    TrainedModel m{*task_, trainer_.stages(), on_cpu(trainer_.weights()), manifest_, {},
                   {},     task_->steps()};
    m.traffic = traffic_;
    m.recoveries = trainer_.state().recoveries;
    if (is_best) {
      m.weights = manifest_.best_weights;
      m.step = *manifest_.best_step;
    }
    // A resumed run that was finished has no measurement yet.
    m.validation = is_best || last_validation_.count == 0
                       ? measure_on_device(m.weights, DataSplit::validation)
                       : last_validation_;
    if (recipe().evaluation.test) m.test = measure_on_device(m.weights, DataSplit::test);
    for (const WeightStages& p : trainer_.stages()) {
      if (p.stages.back().step == undecided_step) continue;  // left dense
      Tensor& w = m.weights.at(p.weight);
      try {
        w = convert(w, p.save);
      } catch (const Error& e) {
        throw Error(e.fault(),
                    fmt::format("{}: {} (the trained checkpoint is in {})", quote(p.weight),
                                e.what(), printable(directory_->checkpoint(saved_))));
      }
    }
    return {write(m),
            std::nullopt,
            {"this process multiplies dense matrices by " + dense_library().name}};
  }

  // Writes the given model with the trained weights.
  void write_onnx(TrainedModel& m) {
    if (!task_->onnx()) return;
    if (const std::string why = why_not_onnx(task_->model(), *task_->onnx()); !why.empty()) {
      m.notes.push_back("wrote no model.onnx: " + why);
      return;
    }
    const auto is_dense = [](const auto& w) { return w.second.template is<Dense>(); };
    m.notes.push_back(
        "wrote " + printable(directory_->write_onnx(task_->model(), m.weights, *task_->onnx())) +
        (std::ranges::all_of(m.weights, is_dense) ? "" : ", which stores zeros like all values"));
  }

  // Returns the report, without the time of the run.
  Report write(TrainedModel& m) {
    // As transformers stores it.
    const bool in_by_out = is_decoder(recipe().model);
    m.path = directory_->write_model(task_->model(), m.weights, metadata(), in_by_out,
                                     buffers_.after(m.step * task_->parts(), m.weights));
    write_onnx(m);
    for (const auto& [name, bytes] : copies_) directory_->write(name, bytes);
    m.metrics = directory_->metrics();
    Report report = train_report(m);
    directory_->write(run_curve_name, to_svg(main_chart(report)));
    Report summary = report;
    summary.facts.emplace_back("seconds", seconds());
    directory_->write(run_summary_name, to_json(summary));
    return report;
  }

  const TrainOptions& o_;
  std::shared_ptr<Communicator> ranks_;
  const Device device_;
  std::shared_ptr<const Task> task_;
  const Buffers buffers_;  // read early: their file may be gone at the end of the run
  Trainer trainer_;
  std::vector<std::pair<std::string, std::string>>
      copies_;  // paths by name in the output directory
  std::optional<UseDenseLibrary> products_;
  std::optional<RunDirectory> directory_;  // on rank 0 only
  RunManifest manifest_;
  Measured last_validation_;
  GradientTraffic traffic_;  // of the last step
  Index saved_ = -1;
  bool has_loss_ = false;  // from a step whose loss was read
  double seconds_before_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

std::vector<std::pair<std::string, std::string>> files_beside(const Task& task) {
  const Recipe& r = task.recipe();
  if (r.model.kind == "graph") return {{RunFiles::graph_file, bytes_of(r.model.file)}};
  if (!has_config(r.model)) return {};
  std::string config = read_config(r.model.config);
  if (r.model.kind == "bert") {
    const BertHead head = head_of(r.data);
    const BertConfig before = BertConfig::parse(config);
    if (is_labelled(r.data) || before.head != head || !before.unknown_class.empty())
      config = with_labels(config, head, task.labels());
  }
  config = with_dtype(config, DType::F32, printable(r.model.config));
  std::vector<std::pair<std::string, std::string>> all{{"config.json", std::move(config)}};
  // Copies the first file of each name.
  const auto copy = [&](const std::string& name, const std::string& path) {
    const auto has_name = [&](const auto& file) { return file.first == name; };
    if (std::ranges::any_of(all, has_name)) return;
    const MappedFile file = MappedFile::open(path);
    all.emplace_back(name, text_of(file.bytes()));
  };
  const auto tokenizer = read_tokenizer(r.data.vocabulary);
  for (const auto& [name, path] : tokenizer->files()) copy(name, path);
  std::error_code none;
  // A vocabulary given as a file was chosen among the files beside it.
  if (fs::is_directory(r.data.vocabulary, none))
    for (const NamedCompanion& c : named_companions(r.data.vocabulary))
      if (c.of_tokenizer) copy(c.name, c.path);
  std::vector<fs::path> folders{fs::path(r.model.config).parent_path()};
  if (const fs::path weights = r.model.weights; !weights.empty())
    folders.push_back(fs::is_directory(weights, none) ? weights : weights.parent_path());
  for (const fs::path& folder : folders)
    for (const NamedCompanion& c : named_companions(folder))
      if (!c.of_tokenizer) copy(c.name, c.path);
  return all;
}

std::string model_file(const TrainOptions& options) {
  const ModelRecipe model = read_recipe(options.recipe, options.set).model;
  return is_from_file(model) ? printable(model.file) : "";
}

TrainOutcome train(const TrainOptions& options) {
  return with_model_file([&] { return model_file(options); },
                         [&] { return Training(options).run(); });
}

}  // namespace sten
