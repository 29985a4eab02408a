// SPDX-License-Identifier: Apache-2.0
// The report on removed layers and experts.
#pragma once
#include "libsten/programs/drop/module_scores.h"
#include "libsten/report/report_data.h"

namespace sten {

// What remains: ascending indices of layers; and by layer, of experts, empty without a removal.
struct KeptModules {
  std::vector<Index> layers;
  std::vector<std::vector<Index>> experts;
  std::optional<Index> expert_count;  // of each mixture, if experts are removed
};

// One row per layer of the input.
Report drop_report(const CausalLayers& layers, const ModuleScores& scores, const KeptModules& kept);

}  // namespace sten
