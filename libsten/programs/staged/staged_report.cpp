// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/staged/staged_report.h"

#include "libsten/compute/linalg/dense_gemm.h"
#include "libsten/core/base/text.h"
#include "libsten/files/checkpoint/other_weights.h"

namespace sten {
namespace {

// A row of the report with the planned values of stage k.
std::vector<Cell> planned_row(const StagedPlan& p, const Report& r, std::size_t k) {
  std::vector<Cell> row;
  r.at(row, "stage") = static_cast<Index>(k);
  if (!p.schedule.structures.empty()) r.at(row, "structure") = p.schedule.structures[k - 1];
  if (p.schedule.layerwise) r.at(row, "tensor") = p.names[k - 1];
  return row;
}

void add_left_alone(const StagedPlan& p, Outcome& out) {
  out.report.add_note(p.part_taken);
  out.report.add_note(p.left_alone);
  out.details = p.skipped_rows;
}

}  // namespace

Outcome planned_outcome(const StagedPlan& p) {
  Outcome out{stage_report(), std::nullopt};
  Report& r = out.report;
  for (std::size_t k = 1; k <= p.stages; ++k) {
    auto cells = planned_row(p, r, k);
    if (!p.schedule.sparsity.empty()) r.at(cells, "sparsity") = p.schedule.sparsity[k - 1];
    r.rows.push_back(std::move(cells));
  }
  r.notes.push_back(
      fmt::format("{} stages for {} tensors; nothing was run", p.stages, p.names.size()));
  add_left_alone(p, out);
  for (std::string& line : p.left.notes()) r.notes.push_back(std::move(line));
  return out;
}

Outcome staged_outcome(const StagedPlan& p, const StagedResult& result) {
  Outcome out{stage_report(), std::nullopt};
  Report& r = out.report;
  Index violations = 0;
  const std::size_t done = result.records.size();
  for (std::size_t k = 1; k <= done; ++k) {
    const StageManifest& s = result.records[k - 1];
    auto cells = planned_row(p, r, k);
    fill_row(r, cells, s);
    violations += s.violations;
    r.rows.push_back(std::move(cells));
  }
  r.facts = {{"input", printable(p.options.prune.input)},
             {"schedule", p.schedule.spec.str()},
             {"to", p.to.str()},
             {"sparsity", result.sparsity}};
  if (result.first_loss) r.facts.emplace_back("loss_initial", *result.first_loss);
  const Report& last = result.last.report;
  std::vector<Cell> total = last.total;
  for (const char* key : {"bytes_before", "bytes_after"})
    r.facts.emplace_back(key, last.at(total, key));
  r.charts = {stage_curve(result.records, result.first_loss)};
  r.figures = {
      {"sparsity", Unit::fraction, "sparsity"},
      {"loss", Unit::ratio, fmt::format("stages/{}/loss", std::max<std::size_t>(done, 1) - 1),
       "loss_initial", Better::lower},
      {"energy", Unit::ratio, fmt::format("stages/{}/energy", std::max<std::size_t>(done, 1) - 1)},
      {"size", Unit::bytes, "bytes_after", "bytes_before", Better::lower}};
  r.notes.push_back(fmt::format("sparsity {:.2f} % over {} tensors after {} of {} stages",
                                100 * result.sparsity, p.names.size(), done, p.stages));
  add_left_alone(p, out);
  if (result.first_loss)
    r.notes.push_back(fmt::format("loss on the input: {:.4f}", *result.first_loss));
  if (done && !result.records.back().recovered)
    r.notes.push_back(fmt::format("stopped at {}: no lower loss in {} rounds{}",
                                  quote(result.records.back().tensor), p.options.recovery.patience,
                                  done < p.stages ? "; the layers after it stay dense" : ""));
  for (std::string& line : p.left.notes()) r.notes.push_back(std::move(line));
  if (!p.options.trainer.recipe.empty())
    out.details.push_back("this process multiplies dense matrices by " + dense_library().name);
  if (violations)
    r.notes.push_back(fmt::format("{} changed {} pruned positions; they were set to 0 again",
                                  result.trainer, violations));
  return out;
}

}  // namespace sten
