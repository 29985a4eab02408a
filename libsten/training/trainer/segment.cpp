// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/segment.h"

#include <algorithm>

#include "libsten/core/tensor/low_floats.h"
#include "libsten/model/fusion/fused_graph.h"
#include "libsten/model/graph/subgraph.h"

namespace sten {

BatchValues::BatchValues(BatchActivations stored, const Graph& g, const NamedValues<Tensor>& inputs)
    : values_(std::move(stored)) {
  for (auto& [value, x] : values_) x = widened(x);
  for (std::size_t i = 0; i < g.inputs().size(); ++i) values_.emplace(i, inputs.at(g.inputs()[i]));
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
    const Tensor& x = values[value];
    GraphPort p{name, x.dtype(), std::vector<GraphPort::Extent>(x.shape().size())};
    if (x.dtype() == DType::F32 && x.shape().size() > 1) p.shape->back().size = x.shape().back();
    ports.push_back(std::move(p));
  }
  return ports;
}

}  // namespace

Segment::Segment(const Graph& g, std::size_t begin, const std::vector<std::size_t>& wanted,
                 const std::function<const Tensor&(std::size_t)>& stored) {
  Subgraph part = subgraph(g, nodes_for(g, begin, wanted));
  for (std::size_t i = 0; i < part.inputs.size(); ++i)
    inputs_.emplace_back(part.parts.inputs[i], part.inputs[i]);
  for (std::size_t i = 0; i < part.weights.size(); ++i)
    weights_.emplace(part.parts.weights[i].name, stored(part.weights[i]));
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
  if (!executor_) executor_.emplace(*fused_, weights_);
  NamedValues<Tensor> in;
  for (const auto& [name, value] : inputs_) in.emplace(name, values[value]);
  const NamedValues<Tensor> out = executor_->run(in);
  for (const auto& [name, value] : outputs_) values.set(value, widened(out.at(name)));
}

}  // namespace sten
