// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/segmented_graph.h"

#include <algorithm>

#include "libsten/model/graph/subgraph.h"
#include "libsten/training/trainer/value_shapes.h"

namespace sten {
namespace {

constexpr Index least_saving = 4;  // bytes of a segment's values, by those stored after it

// By node: bytes of the values of nodes up to it that later nodes use.
std::vector<Index> live_bytes(const Graph& g, const std::vector<std::size_t>& last,
                              const ValueShapes& shapes) {
  std::vector<Index> change(g.nodes().size() + 1);
  for (std::size_t i = 0; i < g.nodes().size(); ++i) {
    const std::size_t value = g.first_node() + i;
    if (last[value] <= i) continue;
    change[i] += shapes.bytes(value);
    change[last[value]] -= shapes.bytes(value);
  }
  for (std::size_t i = 1; i < change.size(); ++i) change[i] += change[i - 1];
  change.pop_back();
  return change;
}

}  // namespace

SegmentedGraph::SegmentedGraph(const Graph& g) : segments_{{g, {}}} {}

SegmentedGraph::SegmentedGraph(const Graph& g, const NamedValues<Tensor>& inputs) {
  const std::size_t n = g.nodes().size();
  const ValueShapes shapes(g, inputs, true);
  const std::vector<Index> live = live_bytes(g, last_uses_before(g, n), shapes);
  std::size_t begin = 0;
  Index bytes = 0;
  for (std::size_t i = 0; i + 1 < n; ++i) {
    bytes += shapes.bytes(g.first_node() + i);
    const bool is_minimum = (i == 0 || live[i] <= live[i - 1]) && live[i] < live[i + 1];
    if (!is_minimum || live[i] == 0 || bytes < least_saving * live[i]) continue;
    add(g, begin, i + 1);
    stored_bytes_ += live[i];
    largest_bytes_ = std::max(largest_bytes_, bytes);
    begin = i + 1;
    bytes = 0;
  }
  bytes += shapes.bytes(g.first_node() + n - 1);
  largest_bytes_ = std::max(largest_bytes_, bytes);
  add(g, begin, n);
}

void SegmentedGraph::add(const Graph& g, std::size_t begin, std::size_t end) {
  std::vector<bool> has(g.nodes().size());
  for (std::size_t i = begin; i < end; ++i) has[i] = true;
  GraphParts parts = subgraph(g, has).parts;
  const std::vector<std::size_t> last = last_uses_before(g, g.nodes().size());
  std::vector<std::string> later;
  for (std::size_t i = begin; i < end; ++i) {
    const std::string& name = g.nodes()[i].name;
    const bool is_later = last[g.first_node() + i] >= end;
    if (is_later) later.push_back(name);
    if (is_later || std::ranges::count(g.outputs(), name) > 0) parts.outputs.push_back(name);
  }
  segments_.push_back({Graph(std::move(parts)), std::move(later)});
}

}  // namespace sten
