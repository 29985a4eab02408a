// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/calibrated_layers.h"

#include <set>

#include "libsten/compute/ops/products/mixture_of_experts.h"

namespace sten {

bool LayerToCalibrate::has_input_of(const LayerToCalibrate& other, const Graph& g) const {
  if (expert || other.expert)
    return node == other.node && expert == other.expert && is_down == other.is_down;
  return g.arguments(node)[0] == g.arguments(other.node)[0];
}

std::vector<std::size_t> LayerToCalibrate::input_values(const Graph& g) const {
  const std::vector<std::size_t>& in = g.arguments(node);
  if (expert) return {in[0], in[1]};
  return {in[0]};
}

std::vector<LayerToCalibrate> layers_to_calibrate(
    const Graph& g, const std::function<bool(const std::string& name)>& is_wanted) {
  std::vector<LayerToCalibrate> layers;
  std::set<std::size_t> seen;
  const auto add = [&](LayerToCalibrate layer) {
    const std::size_t i = layer.weight - g.first_weight();
    if (layer.weight >= g.first_weight() && i < g.weights().size() &&
        is_wanted(g.weights()[i].name) && seen.insert(layer.weight).second)
      layers.push_back(layer);
  };
  for (std::size_t node = 0; node < g.nodes().size(); ++node) {
    const std::vector<std::size_t>& in = g.arguments(node);
    if (g.nodes()[node].op == Name("linear") && !g.is_stored(in[0])) add({node, in[1]});
    if (g.nodes()[node].op != Name("mixture-of-experts")) continue;
    for (std::size_t i = first_expert_input; i < in.size(); ++i) {
      const std::size_t at = i - first_expert_input;
      add({node, in[i], static_cast<Index>(at / weights_per_expert),
           at % weights_per_expert + 1 == weights_per_expert});
    }
  }
  return layers;
}

}  // namespace sten
