// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/task/lora.h"

#include <cmath>
#include <set>

#include "libsten/core/base/text.h"
#include "libsten/core/registry/registry.h"
#include "libsten/training/recipe/targets.h"

namespace sten {
namespace {

const Name op("lora");

Attributes attributes_of(const LoraRecipe& r) {
  return Attributes().set("scale", r.alpha / static_cast<double>(r.rank));
}

// Uniform in +-1 / sqrt(columns), as the layers of PyTorch.
Spec initial_of(Index columns) {
  return Spec("uniform").set("bound",
                             fmt::format("{}", 1 / std::sqrt(static_cast<double>(columns))));
}

}  // namespace

Graph with_lora(const Graph& g, const LoraRecipe& r) {
  GraphParts parts = g.parts();
  const std::vector<std::string> targets = match_weights(r.target, g.weights(), "/lora/target");
  const std::set<std::string> adapted(targets.begin(), targets.end());
  std::set<std::string> done;
  std::vector<Node> nodes;
  for (Node& node : parts.nodes) {
    for (std::string& input : node.inputs) {
      if (!adapted.contains(input)) continue;
      const LoraWeight w{input, input + ".lora_A", input + ".lora_B"};
      const std::string sum = input + ".lora";
      input = sum;
      if (!done.insert(w.weight).second) continue;
      const Shape shape = g.find_weight(w.weight)->shape;
      if (shape.size() != 2)
        fail_usage("/lora/target: expected matrices, got {} of shape {}", quote(w.weight),
                   to_string(shape));
      if (r.rank > std::min(shape[0], shape[1]))
        fail_usage("/lora/rank: expected at most {}, the smaller extent of {}, got {}",
                   std::min(shape[0], shape[1]), quote(w.weight), r.rank);
      parts.weights.push_back({w.a, {r.rank, shape[1]}, initial_of(shape[1])});
      parts.weights.push_back({w.b, {shape[0], r.rank}});
      nodes.push_back({sum, op, {w.weight, w.a, w.b}, attributes_of(r)});
    }
    nodes.push_back(std::move(node));
  }
  parts.nodes = std::move(nodes);
  return Graph(std::move(parts));
}

std::vector<LoraWeight> lora_weights(const Graph& g) {
  std::vector<LoraWeight> all;
  for (const Node& n : g.nodes())
    if (n.op == op) all.push_back({n.inputs[0], n.inputs[1], n.inputs[2]});
  return all;
}

Tensor merged(const Tensor& w, const Tensor& a, const Tensor& b, const LoraRecipe& r) {
  const Tensor sum = apply(op, {w, a, b}, attributes_of(r));
  return w.is<Dense>() ? sum : registry().pack(sum.to_dense(), w.stored(), w.spec());
}

}  // namespace sten
