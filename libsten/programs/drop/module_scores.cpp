// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/drop/module_scores.h"

#include <cmath>

#include "libsten/compute/calibrate/block_influence.h"
#include "libsten/compute/ops/products/mixture_of_experts.h"
#include "libsten/core/base/error.h"
#include "libsten/programs/drop/indexed_name.h"
#include "libsten/report/progress.h"
#include "libsten/training/trainer/streamed_model.h"

namespace sten {
namespace {

// The nodes [begin, end) of a layer. Its input is the value of the node before, its output that of
// the last one.
struct LayerNodes {
  std::size_t begin = 0, end = 0;
  std::optional<std::size_t> mixture = {};  // the node that mixes experts
};

std::vector<LayerNodes> layer_nodes(const Graph& g, const CausalLayers& layers) {
  std::vector<LayerNodes> all(layers.count);
  for (std::size_t i = 0; i < g.nodes().size(); ++i) {
    const std::optional<IndexedName> at = indexed_name(g.nodes()[i].name, layers.name);
    if (!at) continue;
    LayerNodes& layer = all.at(at->index);
    if (layer.end == 0) layer.begin = i;
    layer.end = i + 1;
    if (g.nodes()[i].op == Name("mixture-of-experts")) layer.mixture = i;
  }
  return all;
}

}  // namespace

ModuleScores score_modules(ModelWeights& model, const CausalLayers& layers,
                           const CalibrationInputs& batches, bool show_progress) {
  const Graph& g = model.graph();
  const std::vector<LayerNodes> nodes = layer_nodes(g, layers);
  const auto value = [&](std::size_t node) { return g.first_node() + node; };
  const auto logits = [&](const LayerNodes& l) { return g.arguments(*l.mixture)[1]; };
  std::vector<StreamedModel::Segment> parts{{nodes.front().begin, {}}};
  for (const LayerNodes& l : nodes) {
    parts.push_back({l.end, {value(l.end - 1)}});
    if (l.mixture) parts.back().observed.push_back(logits(l));
  }
  std::vector<BlockInfluence> influence(nodes.size());
  ModuleScores scores;
  scores.router_weights.resize(nodes.size());
  Progress progress("calibrate", nodes.size(), show_progress, "layers");
  std::size_t finished = 0;
  StreamedModel::Source source = model.source();
  source.released = [&, released = source.released] {
    released();
    if (finished++ > 0) progress.add(1);
  };
  const StreamedModel streamed(source, batches, parts);
  const auto observe = [&](std::size_t part, std::size_t, const BatchValues& values) {
    if (part == 0) return;
    const LayerNodes& l = nodes[part - 1];
    influence[part - 1].add(values[value(l.begin - 1)].to_dense(),
                            values[value(l.end - 1)].to_dense());
    if (!l.mixture) return;
    const std::vector<double> sums =
        router_weight_sums(g.nodes()[*l.mixture].attributes, values[logits(l)].to_dense());
    std::vector<double>& to = scores.router_weights[part - 1];
    to.resize(sums.size());
    for (std::size_t e = 0; e < sums.size(); ++e) to[e] += sums[e];
  };
  const StreamedModel::State result = streamed.run(streamed.weights(), streamed.first(), observe);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    scores.influence.push_back(influence[i].value());
    if (!std::isfinite(scores.influence.back()))
      fail("layer {}: the values on the calibration data are not finite", i);
  }
  scores.positions = influence.front().tokens();
  scores.most_bytes = result.most_bytes;
  scores.is_rounded = result.is_rounded;
  return scores;
}

}  // namespace sten
