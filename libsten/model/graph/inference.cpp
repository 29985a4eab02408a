// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/graph/inference.h"

#include <algorithm>
#include <set>

#include "libsten/core/base/text.h"

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

Graph train_batch_norms(const Graph& g, const Momenta& momenta) {
  GraphParts parts = g.parts();
  std::set<std::string> normalized;  // values with moments
  std::vector<Node> nodes;
  for (Node& n : parts.nodes) {
    if (n.op.text() == "batch-norm") {
      const std::string mean = n.inputs[3], variance = n.inputs[4];
      for (const std::string& name : {mean, variance})
        if (!g.find_weight(name))
          fail_usage("node {}: running statistics {}: expected a weight", quote(n.name),
                     quote(name));
      // Statistics belong to a value: see inference_graph().
      if (!normalized.insert(n.inputs.front()).second) {
        const std::string copy = new_name(n.name + ".input", g);
        nodes.push_back({copy, "identity", {n.inputs.front()}});
        n.inputs.front() = copy;
      }
      const std::string moments = new_name(n.name + ".moments", g);
      nodes.push_back(
          {moments, "batch-moments", {n.inputs.front()}, Attributes().set("sample", Index{1})});
      RunningStatistics s{moments, mean, variance};
      if (const auto at = momenta.find(mean); at != momenta.end()) s.momentum = at->second;
      parts.statistics.push_back(std::move(s));
      n.op = "batch-norm-train";
      n.inputs.resize(3);
    }
    nodes.push_back(std::move(n));
  }
  parts.nodes = std::move(nodes);
  return Graph(std::move(parts));
}

std::string new_name(std::string name, const Graph& g) {
  while (g.has(name)) name += '_';
  return name;
}

void prune_to_outputs(GraphParts& g, std::vector<std::string> outputs) {
  g.outputs = std::move(outputs);
  Names needed(g.outputs.begin(), g.outputs.end()), normalized;
  for (auto n = g.nodes.rbegin(); n != g.nodes.rend(); ++n)
    if (needed.contains(n->name)) {
      needed.insert(n->inputs.begin(), n->inputs.end());
      if (n->op.text() == "batch-norm-train") normalized.insert(n->inputs.front());
    }
  for (const Node& n : g.nodes)
    if (n.op.text() == "batch-moments" && normalized.contains(n.inputs.front()))
      needed.insert(n.name);
  std::erase_if(g.nodes, [&](const Node& n) { return !needed.contains(n.name); });
  std::erase_if(g.statistics,
                [&](const RunningStatistics& s) { return !needed.contains(s.moments); });
  std::erase_if(g.inputs, [&](const std::string& x) { return !needed.contains(x); });
  std::erase_if(g.constants, [&](const Constant& c) { return !needed.contains(c.name); });
}

Graph without_loss(const Graph& g) {
  GraphParts parts = g.parts();
  prune_to_outputs(parts, {g.outputs().front()});
  return Graph(std::move(parts));
}

}  // namespace sten
