#include "libsten/nn/dropout.h"

#include <algorithm>

#include "libsten/base/random.h"

namespace sten {

std::string add_dropout(GraphParts& g, const std::string& name, const std::string& x, double p) {
  if (!std::ranges::count(g.inputs, draw_input)) g.inputs.emplace_back(draw_input);
  // Not that of another node.
  const auto seed = static_cast<Index>(seed_for(0, name) >> 1);
  g.nodes.push_back({name, "dropout", {x, draw_input}, Attributes().set("p", p).set("seed", seed)});
  return name;
}

}  // namespace sten
