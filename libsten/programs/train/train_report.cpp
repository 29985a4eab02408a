// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/train/train_report.h"

#include <algorithm>
#include <map>

#include "libsten/core/base/name_list.h"
#include "libsten/core/base/text.h"
#include "libsten/programs/measure/measure.h"

namespace sten {
namespace {

// Compressed layouts can store 0, and masked values can be -0.0.
Index nonzeros(const Tensor& t) { return value_mask(t.to_dense()).count(); }

void add_measured(Report& r, const std::string& split, const Measured& before,
                  const Measured& after, const F1Scorer* scorer) {
  if (after.count == 0) return;
  r.facts.emplace_back(split + "/loss_before", before.loss);
  r.facts.emplace_back(split + "/accuracy_before", before.accuracy);
  r.facts.emplace_back(split + "/loss", after.loss);
  r.facts.emplace_back(split + "/accuracy", after.accuracy);
  r.facts.emplace_back(split + "/count", after.count);
  std::string line =
      fmt::format("{}: loss {:.4f} (before {:.4f}), accuracy {:.2f} % ({:.2f} %)", split,
                  after.loss, before.loss, 100 * after.accuracy, 100 * before.accuracy);
  if (scorer && after.f1 && before.f1) {
    r.facts.emplace_back(split + "/f1_before", *before.f1);
    r.facts.emplace_back(split + "/f1", *after.f1);
    line += fmt::format(", {} {:.2f} % ({:.2f} %)", name_of(scorer->kind()), 100 * *after.f1,
                        100 * *before.f1);
  }
  r.notes.push_back(std::move(line));
}

void add_traffic(Report& r, int ranks, const GradientTraffic& t) {
  const auto number = [](std::uint64_t n) { return static_cast<Index>(n); };
  r.facts.emplace_back("ranks", Index{ranks});
  r.facts.emplace_back("gradients/bytes", number(t.sent));
  r.facts.emplace_back("gradients/bytes_if_dense", number(t.dense));
  r.facts.emplace_back("gradients/sparse_bytes", number(t.sparse_sent));
  r.facts.emplace_back("gradients/sparse_bytes_if_dense", number(t.sparse_dense));
  r.facts.emplace_back("gradients/device_bytes", number(t.from_device));
  r.facts.emplace_back("gradients/compressed_bytes", number(t.compressed));
  if (ranks == 1)
    r.notes.push_back(
        fmt::format("1 rank; among several it would give {} of gradients per step, "
                    "of {} if dense",
                    human_bytes(t.sent), human_bytes(t.dense)));
  else
    r.notes.push_back(
        fmt::format("{} ranks; in the last step each gave {} of gradients, of {} if dense", ranks,
                    human_bytes(t.sent), human_bytes(t.dense)));
}

// The weights that were pruned until recovery, by name.
std::map<std::string, TriedLayer> tried_layers(const TrainedModel& m) {
  std::map<std::string, TriedLayer> all;
  for (const RecoveryState& r : m.recoveries) {
    auto next = r.layers.begin();
    for (const WeightStages& p : m.stages)
      if (p.entry == r.entry && next != r.layers.end()) all.emplace(p.weight, *next++);
  }
  return all;
}

void add_recovery_columns(Report& r) {
  r.columns.push_back({"pruned_at", "pruned at", Unit::count});
  r.columns.push_back({"rounds", "rounds", Unit::count});
  r.columns.push_back({"recovery_loss", "loss", Unit::ratio});
}

// Which weights of an entry stay dense since the loss did not recover.
void add_recovery(Report& r, const TrainedModel& m, const RecoveryState& of,
                  const std::map<std::string, TriedLayer>& tried) {
  std::vector<std::string> dense;
  for (const WeightStages& p : m.stages)
    if (p.entry == of.entry && tried.at(p.weight).is_dense) dense.push_back(p.weight);
  const std::string key = fmt::format("recovery_{}/", of.entry);
  r.facts.emplace_back(key + "reference_loss", *of.reference);
  const double most =
      m.task.recipe().sparsity[of.entry].schedule.recovery.recovered_loss(*of.reference);
  r.facts.emplace_back(key + "recovered_loss", most);
  r.facts.emplace_back(key + "left_dense", fmt::format("{}", fmt::join(dense, ", ")));
  r.notes.push_back(
      dense.empty()
          ? fmt::format("/sparsity/{}: all weights recovered to a validation loss of {:.4f}",
                        of.entry, most)
          : fmt::format("/sparsity/{}: {} weight{} left dense, since the validation loss did not "
                        "recover to {:.4f}: {}",
                        of.entry, dense.size(), dense.size() == 1 ? "" : "s", most,
                        name_list(dense, dense.size())));
}

std::vector<KeyFigure> figures_of(const std::string& split) {
  const auto key = [&](const char* name) { return split + "/" + name; };
  return {
      {split + " accuracy", Unit::fraction, key("accuracy"), key("accuracy_before"),
       Better::higher},
      {split + " F1", Unit::fraction, key("f1"), key("f1_before"), Better::higher},
      {split + " loss", Unit::ratio, key("loss"), key("loss_before"), Better::lower},
      {"sparsity", Unit::fraction, "total/sparsity"},
      {"sparse weights", Unit::bytes, "total/bytes_after", "total/bytes_before", Better::lower}};
}

}  // namespace

Report train_report(const TrainedModel& m) {
  Report r;
  r.program = "sten-train";
  r.columns = {{"name", "tensor", Unit::text},         {"shape", "shape", Unit::shape},
               {"layout", "layout", Unit::text},       {"elements", "elements", Unit::count},
               {"kept", "kept", Unit::count},          {"sparsity", "sparsity", Unit::fraction},
               {"bytes_before", "dense", Unit::bytes}, {"bytes_after", "bytes", Unit::bytes}};
  r.optional_columns = {"kept", "bytes_before", "elements", "shape", "layout"};
  Index elements = 0, kept = 0, before = 0, after = 0;
  std::vector<std::string> names;
  for (const WeightStages& p : m.stages) names.push_back(p.weight);
  std::ranges::sort(names, natural_less);
  const std::map<std::string, TriedLayer> tried = tried_layers(m);
  if (!tried.empty()) add_recovery_columns(r);
  for (const std::string& name : names) {
    const Tensor& w = m.weights.at(name);
    std::vector<Cell>& row = r.rows.emplace_back();
    const Index n = size_of(w.shape()), some = nonzeros(w);
    const auto bytes = static_cast<Index>(w.bytes()), dense = 4 * n;
    r.at(row, "name") = name;
    r.at(row, "shape") = w.shape();
    r.at(row, "layout") = w.spec().str();
    r.at(row, "elements") = n;
    r.at(row, "kept") = some;
    r.at(row, "sparsity") = share(n - some, n);
    r.at(row, "bytes_before") = dense;
    r.at(row, "bytes_after") = bytes;
    if (const auto at = tried.find(name); at != tried.end()) {
      r.at(row, "pruned_at") = at->second.step;
      r.at(row, "rounds") = at->second.rounds.count;
      r.at(row, "recovery_loss") = at->second.loss;
    }
    elements += n;
    kept += some;
    before += dense;
    after += bytes;
  }
  if (!names.empty()) {
    r.at(r.total, "name") = std::string("total");
    r.at(r.total, "elements") = elements;
    r.at(r.total, "kept") = kept;
    r.at(r.total, "sparsity") = share(elements - kept, elements);
    r.at(r.total, "bytes_before") = before;
    r.at(r.total, "bytes_after") = after;
  }
  const Recipe& recipe = m.task.recipe();
  r.facts = {{"recipe", recipe.name},
             {"steps", recipe.steps},
             {"step", m.step},
             {"seed", static_cast<Index>(recipe.seed)},
             {"model", m.path}};
  std::string first = fmt::format("{} of {} steps", recipe.steps, recipe.steps);
  if (m.step != recipe.steps)
    first = fmt::format("the best of {} steps: after {}", recipe.steps, m.step);
  r.notes.push_back(first);
  add_measured(r, "validation", m.record.validation_before, m.validation, m.task.scorer());
  if (recipe.evaluation.test)
    add_measured(r, "test", m.record.test_before, m.test, m.task.scorer());
  for (const RecoveryState& of : m.recoveries) add_recovery(r, m, of, tried);
  if (m.traffic.sent > 0) add_traffic(r, m.record.ranks, m.traffic);
  r.notes.push_back("wrote " + printable(m.path));
  r.notes.insert(r.notes.end(), m.notes.begin(), m.notes.end());
  r.charts = {train_curve(recipe.name, m.metrics)};
  r.figures = figures_of(recipe.evaluation.test ? "test" : "validation");
  return r;
}

Chart train_curve(const std::string& recipe, const std::vector<MetricsLine>& metrics) {
  Chart chart{
      .title = "Loss by step", .subtitle = recipe, .x = {.label = "step"}, .y = {.label = "loss"}};
  ChartSeries batches{.name = "loss of batches", .markers = false},
      validation{.name = "validation loss"},
      sparsity{.name = "sparsity",
               .line = ChartLine::steps,
               .markers = false,
               .dashed = true,
               .on_right = true};
  for (const MetricsLine& m : metrics) {
    const auto x = static_cast<double>(m.step);
    if (m.split.empty() && m.has_loss) batches.points.push_back({x, m.loss});
    if (m.split == "validation") validation.points.push_back({x, m.loss});
    if (m.split.empty()) sparsity.points.push_back({x, m.sparsity});
  }
  const bool is_sparse =
      std::ranges::any_of(sparsity.points, [](const ChartPoint& p) { return p.y > 0; });
  chart.series = {std::move(batches), std::move(validation)};
  if (!is_sparse) return chart;
  chart.right =
      ChartAxis{.label = "sparsity", .range = {{0, 1}}, .numbers = ChartNumberFormat::percent};
  chart.series.push_back(std::move(sparsity));
  return chart;
}

}  // namespace sten
