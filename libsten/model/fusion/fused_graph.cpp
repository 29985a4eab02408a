// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/fusion/fused_graph.h"

#include <algorithm>

#include "libsten/core/base/error.h"
#include "libsten/model/fusion/graph_builder.h"

namespace sten {
namespace {

// Error if no implementation takes that many inputs, so that fusions can rely on their number.
void check_inputs(const Node& n) {
  operators().plan({n.op, std::vector<Name>(n.inputs.size(), "dense")});
}

std::size_t bytes_of(const Graph& g) {
  std::size_t bytes = 0;
  for (const Weight& w : g.weights())
    bytes += sizeof(float) * static_cast<std::size_t>(size_of(w.shape));
  for (const Constant& c : g.constants()) bytes += c.value.values.bytes().size();
  return bytes;
}

Graph fused(const Graph& g, const std::vector<GraphPort>& ports) {
  GraphBuilder builder(bytes_of(g));
  std::vector<ValueRef> refs;  // by the graph's numbers of values
  for (const std::string& name : g.inputs()) {
    const auto port = std::ranges::find(ports, name, &GraphPort::name);
    refs.push_back(builder.add_input(port == ports.end() ? GraphPort{name, {}, {}} : *port));
  }
  for (const Weight& w : g.weights()) {
    refs.push_back(builder.add_weight(w));
    builder.keep(refs.back());
  }
  for (const Constant& c : g.constants()) refs.push_back(builder.add_constant(c.value, c.name));
  for (std::size_t i = 0; i < g.nodes().size(); ++i) {
    const Node& n = g.nodes()[i];
    check_inputs(n);
    std::vector<ValueRef> in;
    for (const std::size_t value : g.arguments(i)) in.push_back(refs[value]);
    refs.push_back(builder.add(n.op, std::move(in), n.attributes, n.name, n.formats));
    if (std::ranges::count(g.statistics(), n.name, &RunningStatistics::moments) > 0)
      builder.keep(refs.back());
  }
  for (std::size_t i = 0; i < g.outputs().size(); ++i) {
    const std::size_t value = g.output_values()[i];
    if (value < g.first_node())
      builder.keep(refs[value]);  // has the name already
    else
      builder.add_output(g.outputs()[i], refs[value]);
  }
  fuse(builder, {.has_gradients = false, .changes_layouts = false});
  GraphParts parts = lower(builder).parts();
  parts.outputs = g.outputs();
  parts.statistics = g.statistics();
  return Graph(std::move(parts));
}

}  // namespace

Graph fused_graph(const Graph& g, const std::vector<GraphPort>& ports) {
  try {
    return fused(g, ports);
  } catch (const Error&) {
    return g;
  }
}

}  // namespace sten
