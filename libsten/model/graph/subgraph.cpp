// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/graph/subgraph.h"

#include <set>

namespace sten {

Subgraph subgraph(const Graph& g, const std::vector<bool>& has) {
  Subgraph s;
  std::set<std::size_t> seen;
  for (std::size_t i = 0; i < has.size(); ++i) {
    if (!has[i]) continue;
    s.parts.nodes.push_back(g.nodes()[i]);
    for (const std::size_t value : g.arguments(i)) {
      const bool is_node = value >= g.first_node();
      if (!seen.insert(value).second || (is_node && has[value - g.first_node()])) continue;
      if (!g.is_stored(value)) {
        s.parts.inputs.push_back(is_node ? g.nodes()[value - g.first_node()].name
                                         : g.inputs()[value]);
        s.inputs.push_back(value);
        continue;
      }
      const std::size_t at = value - g.first_weight();
      if (at >= g.weights().size()) {
        s.parts.constants.push_back(g.constants()[at - g.weights().size()]);
        continue;
      }
      s.parts.weights.push_back(g.weights()[at]);
      s.weights.push_back(value);
    }
  }
  return s;
}

std::vector<std::size_t> last_uses_before(const Graph& g, std::size_t end) {
  std::vector<std::size_t> last(g.value_count());
  for (std::size_t i = 0; i < end; ++i)
    for (const std::size_t value : g.arguments(i)) last[value] = i;
  return last;
}

}  // namespace sten
