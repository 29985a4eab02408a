#include "libsten/model/graph/inference.h"

#include <algorithm>
#include <set>

namespace sten {
namespace {

using Names = std::set<std::string, std::less<>>;

Names taken_by(const GraphParts& g) {
  Names all(g.outputs.begin(), g.outputs.end());
  for (const Node& n : g.nodes) all.insert(n.inputs.begin(), n.inputs.end());
  return all;
}

// By the normalized value.
std::map<std::string, const RunningStatistics*> statistics_by_value(const Graph& g) {
  std::map<std::string, const RunningStatistics*> all;
  for (const RunningStatistics& s : g.statistics())
    all.emplace(g.find_node(s.moments)->inputs.front(), &s);
  return all;
}

}  // namespace

Graph inference_graph(const Graph& g) {
  GraphParts parts = g.parts();
  const Names taken = taken_by(parts), outputs(parts.outputs.begin(), parts.outputs.end());
  const auto statistics = statistics_by_value(g);
  std::map<std::string, std::string> passed;  // replacements of dropouts
  std::vector<Node> nodes;
  for (Node& n : parts.nodes) {
    const auto running =
        n.op.text() == "batch-norm-train" ? statistics.find(n.inputs.front()) : statistics.end();
    for (std::string& name : n.inputs)
      if (const auto at = passed.find(name); at != passed.end()) name = at->second;
    if (n.op.text() == "dropout") {
      if (!outputs.contains(n.name) && n.formats.out.is_dense()) {
        passed.emplace(n.name, n.inputs.front());
        continue;
      }
      n = {n.name, "identity", {n.inputs.front()}, {}, n.formats};
    } else if (running != statistics.end()) {
      n.op = "batch-norm";
      n.inputs.push_back(running->second->mean);
      n.inputs.push_back(running->second->variance);
    }
    nodes.push_back(std::move(n));
  }
  parts.nodes = std::move(nodes);
  std::erase_if(parts.nodes, [&](const Node& n) {
    return n.op.text() == "batch-moments" && !taken.contains(n.name);
  });
  parts.statistics.clear();
  const Names still = taken_by(parts);
  std::erase_if(parts.inputs, [&](const std::string& name) {
    return taken.contains(name) && !still.contains(name);
  });
  return Graph(std::move(parts));
}

void prune_to_outputs(GraphParts& g, std::vector<std::string> outputs) {
  g.outputs = std::move(outputs);
  Names needed(g.outputs.begin(), g.outputs.end());
  std::vector<Node> nodes;
  for (auto n = g.nodes.rbegin(); n != g.nodes.rend(); ++n)
    if (needed.contains(n->name)) {
      needed.insert(n->inputs.begin(), n->inputs.end());
      nodes.push_back(std::move(*n));
    }
  std::ranges::reverse(nodes);
  g.nodes = std::move(nodes);
  std::erase_if(g.inputs, [&](const std::string& x) { return !needed.contains(x); });
  std::erase_if(g.constants, [&](const Constant& c) { return !needed.contains(c.name); });
}

}  // namespace sten
