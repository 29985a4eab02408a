// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/drop/drop_report.h"

#include <algorithm>
#include <numeric>

#include "libsten/core/base/text.h"
#include "libsten/report/report_charts.h"

namespace sten {
namespace {

// The indices of [0, n) that are not in `kept`: "3, 7".
std::string removed_of(Index n, const std::vector<Index>& kept) {
  std::string text;
  for (Index i = 0; i < n; ++i)
    if (!std::ranges::binary_search(kept, i))
      text += fmt::format("{}{}", text.empty() ? "" : ", ", i);
  return text;
}

// The share of the scores that the kept ones have.
double kept_share(const std::vector<double>& scores, const std::vector<Index>& kept) {
  const double all = std::accumulate(scores.begin(), scores.end(), 0.0);
  double sum = 0;
  for (const Index i : kept) sum += scores[i];
  return all > 0 ? sum / all : 1;
}

}  // namespace

Report drop_report(const CausalLayers& layers, const ModuleScores& scores,
                   const KeptModules& kept) {
  Report r;
  r.program = "sten-prune";
  r.item = "layers";
  r.columns = {{"layer", "layer", Unit::count},
               {"influence", "influence", Unit::measured},
               {"status", "status", Unit::text},
               {"new_layer", "new layer", Unit::count},
               {"removed_experts", "removed experts", Unit::text},
               {"router_weight", "router weight", Unit::fraction}};
  r.optional_columns = {"new_layer"};
  Index now = 0;
  for (Index i = 0; i < layers.count; ++i) {
    std::vector<Cell>& row = r.rows.emplace_back();
    const bool stays = std::ranges::binary_search(kept.layers, i);
    r.at(row, "layer") = i;
    r.at(row, "influence") = scores.influence[i];
    r.at(row, "status") = std::string(stays ? "kept" : "removed");
    if (stays) r.at(row, "new_layer") = now++;
    if (!stays || i >= std::ssize(kept.experts) || kept.experts[i].empty()) continue;
    r.at(row, "removed_experts") =
        removed_of(std::ssize(scores.router_weights[i]), kept.experts[i]);
    r.at(row, "router_weight") = kept_share(scores.router_weights[i], kept.experts[i]);
  }
  r.legends = {{"influence", "influence: 1 - the mean cosine of a layer's inputs and outputs"},
               {"router_weight", "router weight: the share that the remaining experts had"}};
  if (now < layers.count)
    r.notes.push_back(fmt::format("removed {} of {} layers: {}", layers.count - now, layers.count,
                                  removed_of(layers.count, kept.layers)));
  if (kept.expert_count)
    r.notes.push_back(fmt::format("removed {} of {} experts of each mixture",
                                  layers.mixture->count - *kept.expert_count,
                                  layers.mixture->count));
  r.facts = {{"layers_before", layers.count}, {"layers_after", now}};
  if (layers.mixture) {
    r.facts.emplace_back("experts_before", layers.mixture->count);
    r.facts.emplace_back("experts_after", kept.expert_count.value_or(layers.mixture->count));
  }
  r.figures = {{"parameters", Unit::count, "parameters_after", "parameters_before"},
               {"layers", Unit::count, "layers_after", "layers_before"},
               {"experts", Unit::count, "experts_after", "experts_before"},
               {"file", Unit::bytes, "file_bytes_after", "file_bytes_before", Better::lower}};
  r.charts = {largest_values_chart(r, "influence", "Influence of the layers")};
  return r;
}

}  // namespace sten
