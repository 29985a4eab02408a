// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/staged/stage_report.h"

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"

namespace sten {

Report stage_report() {
  Report r;
  r.program = "sten-prune";
  r.item = "stages";
  r.columns = {{"stage", "stage", Unit::count},
               {"tensor", "tensor", Unit::text},
               {"structure", "structure", Unit::text},
               {"sparsity", "sparsity", Unit::fraction},
               {"energy", "energy", Unit::ratio},
               {"loss_before", "loss before", Unit::ratio},
               {"loss", "loss", Unit::ratio},
               {"rounds", "rounds", Unit::count},
               {"violations", "re-pruned", Unit::count},
               {"seconds", "seconds", Unit::ratio}};
  r.optional_columns = {"violations", "rounds", "seconds", "loss_before", "structure"};
  return r;
}

void fill_row(const Report& r, std::vector<Cell>& row, const StageManifest& s) {
  r.at(row, "sparsity") = s.sparsity;
  r.at(row, "energy") = s.energy;
  if (s.loss_before) r.at(row, "loss_before") = *s.loss_before;
  if (s.loss) r.at(row, "loss") = *s.loss;
  r.at(row, "rounds") = s.rounds;
  r.at(row, "violations") = s.violations;
  r.at(row, "seconds") = s.seconds;
}

std::string stage_line(std::size_t k, std::size_t stages, const StageManifest& s) {
  std::string text = fmt::format("stage {} of {}", k, stages);
  if (!s.tensor.empty()) text += ": " + quote(s.tensor);
  text += fmt::format(": sparsity {:.2f} %", 100 * s.sparsity);
  if (s.loss) text += fmt::format(", loss {:.4f}", *s.loss);
  return text + fmt::format(", {:.1f} s", s.seconds);
}

Chart stage_curve(const std::vector<StageManifest>& stages, std::optional<double> first) {
  Chart chart{.title = "Pruning in stages"};
  chart.x = {.label = "sparsity", .numbers = ChartNumberFormat::percent};
  ChartSeries before{.name = "before fine-tuning", .dashed = true}, after{.name = "after"},
      energies{};
  if (first) after.points.push_back({0, *first, "the input"});
  for (std::size_t k = 0; k < stages.size(); ++k) {
    const StageManifest& s = stages[k];
    const std::string label =
        fmt::format("stage {}{}{}", k + 1, s.tensor.empty() ? "" : ": ", s.tensor);
    if (s.loss_before) before.points.push_back({s.sparsity, *s.loss_before, label});
    if (s.loss) after.points.push_back({s.sparsity, *s.loss, label});
    energies.points.push_back({s.sparsity, s.energy, label});
  }
  const bool losses = !before.points.empty() || !after.points.empty();
  chart.y = {.label = losses ? "loss" : "energy against the input"};
  if (losses)
    chart.series = {std::move(before), std::move(after)};
  else
    chart.series = {std::move(energies)};
  return chart;
}

double cell_number(const Report& r, std::vector<Cell> row, const char* key) {
  const Cell& cell = r.at(row, key);
  const double* v = std::get_if<double>(&cell);
  return v ? *v : 0;
}

}  // namespace sten
