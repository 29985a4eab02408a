// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/sliced_output.h"

#include <algorithm>

#include "libsten/core/tensor/low_floats.h"
#include "libsten/model/fusion/graph_builder.h"

namespace sten {
namespace {

bool is_layer(const Graph& g, std::size_t node) {
  const std::vector<std::size_t>& in = g.arguments(node);
  const auto is_weight = [&](std::size_t value) {
    return value >= g.first_weight() && value < g.first_weight() + g.weights().size();
  };
  return g.nodes()[node].op == Name("linear") && g.nodes()[node].formats.are_dense() &&
         in[0] >= g.first_node() && std::all_of(in.begin() + 1, in.end(), is_weight);
}

}  // namespace

SlicedOutput::SlicedOutput(const Graph& g, Index slice_bytes)
    : slice_bytes_(slice_bytes), input_(g.output_values().front()) {
  std::vector<bool> has(g.nodes().size());
  for (std::size_t value = input_; value >= g.first_node();) {
    const std::size_t node = value - g.first_node();
    has[node] = true;
    value = g.arguments(node).front();
    if (is_layer(g, node)) {
      input_ = value;
      layer_ = subgraph(g, has).parts;
      layer_.outputs = {g.outputs().front()};
      return;
    }
    const Node& n = g.nodes()[node];
    if (!is_elementwise(n.op.text()) || n.inputs.size() != 1 || !n.formats.are_dense()) return;
  }
}

void SlicedOutput::run(const std::function<Tensor(const std::string&)>& weight,
                       const std::vector<Tensor>& inputs, const Use& use) const {
  if (!has_layer()) {
    for (std::size_t b = 0; b < inputs.size(); ++b) use(b, widened(inputs[b]).to_dense());
    return;
  }
  NamedValues<Tensor> weights;
  bool are_dense = true;
  for (const Weight& w : layer_.weights) {
    const Tensor& x = weights.emplace(w.name, weight(w.name)).first->second;
    are_dense &= x.is<Dense>();
  }
  const Shape& shape = layer_.weights.front().shape;
  const Index rows = shape[0], row_bytes = 4 * std::max<Index>(1, shape[1]);
  const Index slice = are_dense ? std::max<Index>(1, slice_bytes_ / row_bytes) : rows;
  for (Index begin = 0; begin < rows; begin += slice) {
    const Index end = std::min(rows, begin + slice);
    GraphParts parts = layer_;
    NamedValues<Tensor> part;
    for (Weight& w : parts.weights) {
      w.shape[0] = end - begin;
      const Tensor& x = weights.at(w.name);
      part.emplace(w.name, widened(end - begin == rows ? x : rows_of(x.as<Dense>(), begin, end)));
    }
    const Graph g(std::move(parts));
    for (std::size_t b = 0; b < inputs.size(); ++b) {
      const auto outputs = g.run<Tensor>(part, {{g.inputs().front(), widened(inputs[b])}});
      use(b, widened(outputs.begin()->second).to_dense());
    }
  }
}

}  // namespace sten
