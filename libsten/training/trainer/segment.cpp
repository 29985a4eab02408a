// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/segment.h"

#include <algorithm>

#include "libsten/core/tensor/low_floats.h"
#include "libsten/model/fusion/fused_graph.h"
#include "libsten/model/graph/subgraph.h"

namespace sten {

BatchValues::BatchValues(BatchActivations stored, const Graph& g, const NamedValues<Tensor>& inputs)
    : values_(std::move(stored)) {
  for (auto& [value, a] : values_) a = widened(a);
  for (std::size_t i = 0; i < g.inputs().size(); ++i)
    values_.emplace(i, Activation{inputs.at(g.inputs()[i]), std::nullopt});
}

BatchActivations BatchValues::part(const std::vector<std::size_t>& wanted) const {
  BatchActivations all;
  for (const std::size_t value : wanted) all.emplace(value, values_.at(value));
  return all;
}

namespace {

// The nodes from `begin` on that compute the values.
std::vector<bool> nodes_for(const Graph& g, std::size_t begin,
                            const std::vector<std::size_t>& values) {
  std::vector<bool> needed(g.nodes().size());
  const auto mark = [&](std::size_t value) {
    if (value >= g.first_node() + begin) needed[value - g.first_node()] = true;
  };
  for (const std::size_t value : values) mark(value);
  for (std::size_t i = needed.size(); i-- > begin;)
    if (needed[i])
      for (const std::size_t value : g.arguments(i)) mark(value);
  return needed;
}

// Ports of a batch's values: batches may differ in all extents but the last one.
std::vector<GraphPort> ports_of(const std::vector<std::pair<std::string, std::size_t>>& inputs,
                                const BatchValues& values) {
  std::vector<GraphPort> ports;
  for (const auto& [name, value] : inputs) {
    const Tensor& x = values[value].dense;
    GraphPort p{name, x.dtype(), std::vector<GraphPort::Extent>(x.shape().size())};
    if (x.dtype() == DType::F32 && x.shape().size() > 1) p.shape->back().size = x.shape().back();
    ports.push_back(std::move(p));
  }
  return ports;
}

}  // namespace

Segment::Segment(const Graph& g, std::size_t begin, const std::vector<std::size_t>& wanted,
                 const std::function<const Activation&(std::size_t)>& stored) {
  Subgraph part = subgraph(g, nodes_for(g, begin, wanted));
  for (std::size_t i = 0; i < part.inputs.size(); ++i)
    inputs_.emplace_back(part.parts.inputs[i], part.inputs[i]);
  bool has_pruned = false;
  for (std::size_t i = 0; i < part.weights.size(); ++i) {
    const std::string& name = part.parts.weights[i].name;
    const Activation& w = stored(part.weights[i]);
    weights_.emplace(name, w.dense);
    pruned_.emplace(name, w.in_pruned());
    has_pruned |= w.pruned.has_value();
  }
  if (!has_pruned) pruned_.clear();
  for (const std::size_t value : wanted)
    if (value >= g.first_node() + begin) {
      const std::string& name = g.nodes()[value - g.first_node()].name;
      part.parts.outputs.push_back(name);
      outputs_.emplace_back(name, value);
    }
  if (!part.parts.nodes.empty()) graph_.emplace(std::move(part.parts));
}

void Segment::run(BatchValues& values) {
  if (!graph_) return;
  if (!fused_) fused_ = fused_graph(*graph_, ports_of(inputs_, values));
  const auto run = [&](bool in_pruned) {
    std::optional<Executor>& executor = in_pruned ? pruned_run_ : dense_run_;
    if (!executor) executor.emplace(*fused_, in_pruned && !pruned_.empty() ? pruned_ : weights_);
    NamedValues<Tensor> in;
    for (const auto& [name, value] : inputs_)
      in.emplace(name, in_pruned ? values[value].in_pruned() : values[value].dense);
    return executor->run(in);
  };
  const bool differs = !pruned_.empty() || std::ranges::any_of(inputs_, [&](const auto& in) {
    return values[in.second].pruned.has_value();
  });
  const NamedValues<Tensor> dense = run(false);
  const NamedValues<Tensor> pruned = differs ? run(true) : NamedValues<Tensor>();
  for (const auto& [name, value] : outputs_) {
    Activation y{widened(dense.at(name)), std::nullopt};
    if (differs) y.pruned = widened(pruned.at(name));
    values.set(value, std::move(y));
  }
}

}  // namespace sten
