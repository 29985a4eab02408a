// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/execution/execution_order.h"

#include <algorithm>
#include <set>

namespace sten::execution {
namespace {

using Names = std::set<std::string, std::less<>>;

void remove_identities(GraphParts& g) {
  Names made, outputs(g.outputs.begin(), g.outputs.end());
  for (const Node& n : g.nodes) made.insert(n.name);
  std::map<std::string, std::string> passed;
  std::vector<Node> nodes;
  for (Node& n : g.nodes) {
    for (std::string& name : n.inputs)
      if (const auto at = passed.find(name); at != passed.end()) name = at->second;
    const bool repeats = n.op.text() == "identity" && n.inputs.size() == 1 &&
                         n.formats.out.is_dense() && n.attributes.all().empty();
    const std::string from = repeats ? n.inputs.front() : "";
    if (!repeats ||
        (outputs.contains(n.name) && (!made.contains(from) || outputs.contains(from)))) {
      nodes.push_back(std::move(n));
      continue;
    }
    if (outputs.contains(n.name)) {
      std::ranges::replace(g.outputs, n.name, from);
      outputs.insert(from);
    }
    passed.emplace(n.name, from);
  }
  g.nodes = std::move(nodes);
}

void put_weightless_first(GraphParts& g) {
  Names weighted;
  for (const Weight& w : g.weights) weighted.insert(w.name);
  std::vector<Node> first, last;
  for (Node& n : g.nodes) {
    const bool is_weighted =
        std::ranges::any_of(n.inputs, [&](const std::string& i) { return weighted.contains(i); });
    if (is_weighted) weighted.insert(n.name);
    (is_weighted ? last : first).push_back(std::move(n));
  }
  std::ranges::move(last, std::back_inserter(first));
  g.nodes = std::move(first);
}

}  // namespace

ExecutionOrder execution_order(const Graph& g) {
  GraphParts parts = g.parts();
  remove_identities(parts);
  put_weightless_first(parts);
  return {Graph(std::move(parts)), g.outputs()};
}

}  // namespace sten::execution
