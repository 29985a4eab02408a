// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/nn/mlp.h"

#include <algorithm>

#include "libsten/model/nn/layers.h"

namespace sten {

Graph mlp(const std::vector<Index>& sizes, const std::string& activation) {
  if (sizes.size() < 2 || std::ranges::any_of(sizes, [](Index n) { return n < 1; }))
    fail_usage("mlp: sizes must be 2 or more integers >= 1, got {}", to_string(sizes));
  GraphParts g;
  g.inputs = {"x"};
  std::string value = "x";
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    const std::string layer = "layers." + std::to_string(i);
    const Spec init = uniform_for(sizes[i]);
    g.weights.push_back({layer + ".weight", {sizes[i + 1], sizes[i]}, init});
    g.weights.push_back({layer + ".bias", {sizes[i + 1]}, init});
    g.nodes.push_back({layer, "linear", {value, layer + ".weight", layer + ".bias"}});
    value = layer;
    if (i + 2 == sizes.size()) break;
    g.nodes.push_back({layer + "." + activation, activation, {value}});
    value = g.nodes.back().name;
  }
  g.outputs = {value};
  return Graph(std::move(g));
}

}  // namespace sten
