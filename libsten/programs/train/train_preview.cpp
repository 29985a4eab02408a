// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/train/train_preview.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "libsten/compute/calibrate/calibrated_options.h"
#include "libsten/core/base/cuda.h"
#include "libsten/core/base/text.h"
#include "libsten/core/registry/structure.h"
#include "libsten/model/graph/node_errors.h"
#include "libsten/programs/train/data_rate.h"
#include "libsten/training/recipe/targets.h"
#include "libsten/training/task/lora.h"
#include "libsten/training/task/step_formats.h"
#include "libsten/training/trainer/distillation.h"
#include "libsten/training/trainer/memory.h"
#include "libsten/training/trainer/products.h"
#include "libsten/training/trainer/run_directory.h"
#include "libsten/training/trainer/step_routes.h"
#include "libsten/training/trainer/trace.h"

namespace sten {
namespace {

// Bars of the parts of the memory.
BarChart memory_chart(const Report& r) {
  constexpr std::string_view prefix = "memory/", all = "memory/all";
  BarChart chart = {.title = "Estimated memory", .axis = {.numbers = ChartNumberFormat::bytes}};
  for (const auto& [key, cell] : r.facts)
    if (key.starts_with(prefix) && key != all)
      chart.groups.push_back({key.substr(prefix.size()), {number_of(cell)}});
  return chart;
}

std::string stage_text(const SparsityStage& s) {
  return fmt::format("{} from step {}", s.by.str(), s.step);
}

// The first few and the last.
std::string listed(const std::vector<std::string>& all) {
  constexpr std::size_t most = 4;
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all.size() > most && i == 2) text += ", ...";
    if (all.size() > most && i >= 2 && i + 1 < all.size()) continue;
    text += (i ? ", " : "") + all[i];
  }
  return text;
}

std::string mask_text(const MaskRecipe& m) {
  if (m.kind == "fixed") return m.kind;
  if (m.kind == "straight-through") return "new every step, and gradients go straight through them";
  const std::string when = fmt::format("new every {} steps, before step {}", m.refresh, m.end);
  return m.kind == "regrow" ? when + ", by gradients" : when;
}

std::string calibration_text(const CalibrationRecipe& c) {
  return fmt::format("; chosen{} by {} on {} rows",
                     computes_values(c.method, c.reconstruct) ? " and solved" : "", c.method,
                     c.rows);
}

std::string scores_text(const ScoresRecipe& s) {
  std::string text = fmt::format("scores are learned before step {}: rate {}", s.end, s.rate);
  if (s.penalty > 0) text += fmt::format(", penalty {}", s.penalty);
  if (s.warmup > 0) text += fmt::format(" after {} steps", s.warmup);
  return text;
}

// "one more when the validation loss is at most 2 % above that before step 0; each has 5 rounds ..."
std::string recovery_text(const ScheduleRecipe& s, Index weights) {
  const RecoveryRule& r = s.recovery;
  return fmt::format(
      "one more when the validation loss is at most {} % above that before step {}; each has {} "
      "round{} of {} steps, or fewer after {} without a lower loss, and stays dense without "
      "success",
      100 * r.tolerance, s.begin, r.rounds, r.rounds == 1 ? "" : "s", steps_per_round(s, weights),
      r.patience);
}

// The stages, with the earliest steps of those that depend on losses.
std::vector<WeightStages> earliest_stages(const Task& task) {
  std::vector<WeightStages> all = weight_stages(task.recipe(), task.model());
  std::map<std::size_t, Index> count, next;  // by entry
  for (const WeightStages& p : all) ++count[p.entry];
  for (WeightStages& p : all) {
    const ScheduleRecipe& by = task.recipe().sparsity[p.entry].schedule;
    if (by.prunes_until_recovered())
      p.stages.front().step = by.begin + next[p.entry]++ * steps_per_round(by, count[p.entry]);
  }
  return all;
}

// "/sparsity/0: layers.* is 3 weights: magnitude:sparsity=0.1 from step 0, ...; masks are fixed"
std::string entry_note(std::size_t number, const SparsityRecipe& entry,
                       std::span<const WeightStages> weights) {
  std::vector<std::string> stages;
  if (entry.schedule.prunes_until_recovered()) {
    stages.push_back(recovery_text(entry.schedule, std::ssize(weights)));
  } else if (entry.schedule.kind == "layer-wise") {
    for (const WeightStages& p : weights)
      stages.push_back(fmt::format("{} from step {}", p.weight, p.stages.front().step));
  } else {
    for (const SparsityStage& s : weights.front().stages) stages.push_back(stage_text(s));
  }
  return fmt::format("/sparsity/{}: {} is {} weight{}{}: {}{}{}; {}", number, quote(entry.target),
                     weights.size(), weights.size() == 1 ? "" : "s",
                     entry.is_global() ? " with one threshold" : "",
                     entry.schedule.kind == "layer-wise" ? entry.sparsifier.str() + ", " : "",
                     listed(stages), entry.calibration ? calibration_text(*entry.calibration) : "",
                     entry.scores ? scores_text(*entry.scores) : "masks: " + mask_text(entry.mask));
}

std::string optimizer_text(const Recipe& r) {
  std::string text = fmt::format("{}, rate {}", r.optimizer.kind, r.optimizer.rate);
  if (r.rate.kind != "constant") text += ", " + r.rate.kind;
  if (r.rate.warmup > 0) text += fmt::format(", {} steps of warm-up", r.rate.warmup);
  if (r.rate.rewind) text += ", again at each stage";
  if (r.ema > 0) text += fmt::format("; weights are averaged, decay {}", r.ema);
  if (r.label_smoothing > 0) text += fmt::format("; labels smoothed by {}", r.label_smoothing);
  return text;
}

// "teacher: m.safetensors; logits 0.5 of the loss at temperature 2, hidden states 1"
std::string teacher_text(const Recipe& r) {
  const DistillationRecipe& d = *r.distillation;
  const std::string& file = d.teacher.empty() ? r.model.weights : d.teacher;
  std::string text = fmt::format("teacher: {}; ", printable(file.empty() ? r.model.file : file));
  if (d.logits > 0)
    text += fmt::format("logits {} of the loss at temperature {}, ", d.logits, d.temperature);
  return text + fmt::format("hidden states {}", d.hidden);
}

// "/formats/0: intermediate 'layers.*.relu': relu -> csr -> keep-all -> csr, steps 100 to 2000"
std::string format_note(std::size_t number, const FormatRecipe& f) {
  return fmt::format("/formats/{}: {} {}: {} -> {} -> {} -> {}, from step {}, before step {}",
                     number, f.of, quote(f.target), f.inline_by.str(), f.temporary.str(),
                     f.external.str(), f.layout.str(), f.begin, f.end);
}

class Preview {
 public:
  Preview(const TrainOptions& o, Device device)
      : task_(read_recipe(o.recipe, o.set), {.ranks = o.ranks ? o.ranks->size() : 1}),
        stages_(earliest_stages(task_)),
        memory_(estimate_memory(task_, stages_)) {
    task_.check_first_weights();
    task_.check_validation();
    files_beside(task_);
    task_.warn_of_low_weights();
    task_.warn_of_unmasked_zeros();
    training_graph(task_);
    check_formats(recipe(), task_.graph());
    trace_training(task_);
    if (recipe().distillation) task_.teacher_weights();
    products_of(recipe());
    device_products_of(recipe(), device);
    try_sparsity(stages_, task_.model(), true);
    RunDirectory::check(o.out, task_.recipe(), o.force ? RunMode::replace : RunMode::fresh,
                        task_.onnx_data());
  }

  Report report() {
    r_.program = "sten-train";
    r_.columns = {{"name", "tensor", Unit::text},
                  {"shape", "shape", Unit::shape},
                  {"elements", "elements", Unit::count},
                  {"sparsity", "sparsity", Unit::fraction},
                  {"first_step", "from step", Unit::count},
                  {"last_step", "all at", Unit::count},
                  {"stages", "stages", Unit::count},
                  {"layout", "layout", Unit::text},
                  {"save", "saved as", Unit::text},
                  {"entry", "entry", Unit::count, true},
                  {"sparsifiers", "sparsifiers", Unit::text, true}};
    r_.optional_columns = {"elements", "stages", "shape", "layout"};
    add_steps();
    add_rows();
    add_formats();
    add_parameters();
    add_frozen();
    add_memory();
    add_data_rate(task_, r_);
    add_routes();
    return std::move(r_);
  }

 private:
  const Recipe& recipe() const { return task_.recipe(); }

  void add_rows() {
    const auto targets = match_targets(recipe().sparsity, task_.model().weights());
    std::size_t next = 0;
    for (std::size_t e = 0; e < targets.size(); ++e) {
      const std::span weights(stages_.data() + next, targets[e].size());
      next += targets[e].size();
      for (const WeightStages& p : weights) add_row(p, static_cast<Index>(e));
      r_.notes.push_back(entry_note(e, recipe().sparsity[e], weights));
    }
    if (r_.rows.empty()) return;
    r_.at(r_.total, "name") = std::string("total");
    r_.at(r_.total, "elements") = elements_;
    if (kept_)
      r_.at(r_.total, "sparsity") =
          1 - static_cast<double>(*kept_) / static_cast<double>(std::max<Index>(elements_, 1));
  }

  void add_row(const WeightStages& p, Index entry) {
    const Weight& w = *task_.graph().find_weight(p.weight);
    const Index n = size_of(w.shape);
    const auto sparsity = sparsity_of(p.stages.back().by);
    std::vector<Cell>& row = r_.rows.emplace_back();
    r_.at(row, "name") = p.weight;
    r_.at(row, "shape") = w.shape;
    r_.at(row, "elements") = n;
    if (sparsity && !p.is_global) r_.at(row, "sparsity") = *sparsity;
    r_.at(row, "first_step") = p.stages.front().step;
    const ScheduleRecipe& by = recipe().sparsity[p.entry].schedule;
    Index last = p.stages.back().step;
    if (by.prunes_until_recovered()) last = by.begin + (last - by.begin) * by.recovery.rounds;
    r_.at(row, "last_step") = last;
    r_.at(row, "stages") = std::ssize(p.stages);
    r_.at(row, "layout") = p.layout.str();
    r_.at(row, "save") = p.save.str();
    r_.at(row, "entry") = entry;
    std::string all;
    for (const SparsityStage& s : p.stages)
      all += fmt::format("{}{} {}", all.empty() ? "" : "; ", s.step, s.by.str());
    r_.at(row, "sparsifiers") = all;
    elements_ += n;
    if (kept_ && sparsity)
      *kept_ += n - std::llround(*sparsity * static_cast<double>(n));
    else
      kept_.reset();
  }

  void add_steps() {
    const Recipe& r = recipe();
    const double epochs =
        static_cast<double>(r.steps) / static_cast<double>(task_.steps_per_epoch());
    r_.facts = {{"recipe", r.name},
                {"model", r.model.kind},
                {"data", r.data.kind},
                {"steps", r.steps},
                {"steps_per_epoch", task_.steps_per_epoch()},
                {"epochs", epochs},
                {"batch", r.batch},
                {"seed", static_cast<Index>(r.seed)}};
    r_.notes.push_back(fmt::format("{} steps of {} {}, {:.1f} epochs; {}", r.steps, r.batch,
                                   r.data.text.empty() ? "rows" : "windows", epochs,
                                   optimizer_text(r)));
    if (r.distillation) r_.notes.push_back(teacher_text(r));
  }

  void add_formats() {
    for (std::size_t i = 0; i < recipe().formats.size(); ++i)
      r_.notes.push_back(format_note(i, recipe().formats[i]));
  }

  // Dispatch at the last step, and at steps where other formats start.
  void add_routes() {
    std::set<Index> steps{recipe().steps - 1};
    for (const FormatRecipe& f : recipe().formats)
      for (const Index step : {f.begin, f.end})
        if (step < recipe().steps) steps.insert(step);
    for (const Index step : steps) {
      const std::vector<NodeRoute> routes = step_routes(task_, stages_, step);
      Index inexact = 0;
      for (const NodeRoute& r : routes)
        for (const auto& plan : {r.forward, r.backward})
          inexact += plan && plan->kind != DispatchKind::exact;
      if (step == recipe().steps - 1) r_.facts.emplace_back("routes/not_exact", inexact);
      for (const std::string& line : route_lines(routes))
        r_.notes.push_back(fmt::format("step {}: {}", step, line));
    }
  }

  void add_parameters() {
    Index all = 0;
    for (const Weight& w : task_.model().weights())
      if (!task_.model().is_statistic(w.name)) all += size_of(w.shape);
    r_.facts.emplace_back("parameters/all", all);
    r_.facts.emplace_back("parameters/sparse", elements_);
    if (kept_) r_.facts.emplace_back("parameters/kept", all - elements_ + *kept_);
    std::string note =
        fmt::format("{} parameters, {} of them in weights that become sparse", all, elements_);
    if (kept_ && elements_ > 0) note += fmt::format("; {} stay", all - elements_ + *kept_);
    r_.notes.push_back(note);
    if (recipe().lora) add_adapters(*recipe().lora);
  }

  void add_adapters(const LoraRecipe& lora) {
    Index trained = 0;
    for (const Weight& w : task_.graph().weights())
      if (task_.trains(w.name)) trained += size_of(w.shape);
    const auto adapted = std::ssize(lora_weights(task_.graph()));
    r_.facts.emplace_back("parameters/trained", trained);
    r_.notes.push_back(fmt::format(
        "lora: {} is {} weight{}, rank {}, alpha {}: {} trained parameters", quote(lora.target),
        adapted, adapted == 1 ? "" : "s", lora.rank, lora.alpha, trained));
  }

  // Running statistics of batch norms from the model's file.
  void add_frozen() {
    const Graph& g = task_.graph();
    if (!g.statistics().empty()) return;
    std::vector<std::string> frozen;
    for (const Weight& w : g.weights())
      if (g.is_statistic(w.name)) frozen.push_back(w.name);
    if (frozen.empty()) return;
    r_.facts.emplace_back("statistics/frozen", std::ssize(frozen));
    r_.notes.push_back(
        fmt::format("{} running statistics of batch norms are frozen: {}; training changes none of "
                    "their values",
                    frozen.size(), listed(frozen)));
  }

  void add_memory() {
    const auto bytes = [](Index n) { return human_bytes(static_cast<std::uint64_t>(n)); };
    const TrainMemory& m = memory_;
    r_.facts.emplace_back("memory/weights", m.weights);
    r_.facts.emplace_back("memory/gradients", m.gradients);
    r_.facts.emplace_back("memory/optimizer", m.optimizer);
    r_.facts.emplace_back("memory/sparsity", m.sparsity);
    r_.facts.emplace_back("memory/teacher", m.teacher);
    r_.facts.emplace_back("memory/values", m.values);
    r_.facts.emplace_back("memory/evaluation", m.evaluation);
    r_.facts.emplace_back("memory/calibration", m.calibration);
    r_.facts.emplace_back("memory/kept", m.pooled());
    r_.facts.emplace_back("memory/all", m.total());
    r_.charts = {memory_chart(r_)};
    r_.figures = {{"steps", Unit::count, "steps"},
                  {"parameters", Unit::count, "parameters/all"},
                  {"trained parameters", Unit::count, "parameters/trained"},
                  {"estimated memory", Unit::bytes, "memory/all"}};
    r_.notes.push_back(fmt::format(
        "memory: about {} beside the data and the program: weights {}, gradients {}, optimizer {}, "
        "masks {}, {}values of {} {}, evaluation {}, {}freed blocks for the next values {}",
        bytes(m.total()), bytes(m.weights), bytes(m.gradients), bytes(m.optimizer),
        bytes(m.sparsity), m.teacher ? fmt::format("teacher {}, ", bytes(m.teacher)) : "",
        task_.parts() > 1 ? "a part of a batch" : "a batch", bytes(m.values), bytes(m.evaluation),
        m.calibration ? fmt::format("calibration {}, ", bytes(m.calibration)) : "",
        bytes(m.pooled())));
  }

  const Task task_;
  const std::vector<WeightStages> stages_;
  const TrainMemory memory_;
  Report r_;
  Index elements_ = 0;
  std::optional<Index> kept_ = 0;  // none: depends on the values
};

}  // namespace

Outcome preview_training(const TrainOptions& options) {
  const Device device = use_device(options.device, options.ranks ? options.ranks->rank() : 0);
  return with_model_file([&] { return model_file(options); },
                         [&]() -> Outcome {
                           return {Preview(options, device).report(), std::nullopt};
                         });
}

}  // namespace sten
