// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/graph/dropout.h"

#include <algorithm>

#include "libsten/core/base/random.h"

namespace sten {

Index dropout_seed(std::string_view name) { return static_cast<Index>(seed_for(0, name) >> 1); }

std::string add_dropout(GraphParts& g, const std::string& name, const std::string& x, double p) {
  if (!std::ranges::count(g.inputs, draw_input)) g.inputs.emplace_back(draw_input);
  const Index seed = dropout_seed(name);
  g.nodes.push_back({name, "dropout", {x, draw_input}, Attributes().set("p", p).set("seed", seed)});
  return name;
}

}  // namespace sten
