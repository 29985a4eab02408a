// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/segmented_run.h"

#include <algorithm>

#include "libsten/training/optim/gradients.h"

namespace sten {

SegmentedRun::SegmentedRun(const SegmentedGraph& graph, NamedValues<StepWeight> weights,
                           NamedValues<Tensor> inputs)
    : graph_(graph), weights_(std::move(weights)), values_(std::move(inputs)) {
  for (const SegmentedGraph::Segment& s : graph_.segments())
    for (const Weight& w : s.graph.weights())
      if (weights_.at(w.name).gradient) ++uses_[w.name];
  for (const SegmentedGraph::Segment& s : graph_.segments()) {
    find_trained(s.graph);
    if (&s == &graph_.segments().back()) break;
    NamedValues<Tensor> weights_here;
    for (const Weight& w : s.graph.weights())
      weights_here.emplace(w.name, weights_.at(w.name).value);
    NamedValues<Tensor> made = s.graph.run<Tensor>(weights_here, inputs_of(s.graph));
    for (const std::string& name : s.later) values_.emplace(name, made.at(name));
    outputs_.merge(made);
  }
  last_ = record(graph_.segments().back().graph);
  for (const auto& [name, y] : last_->outputs) outputs_.emplace(name, y.value());
}

void SegmentedRun::find_trained(const Graph& g) {
  const auto is_trained = [&](const std::string& name) {
    return uses_.contains(name) || trained_.contains(name);
  };
  for (const Node& n : g.nodes())
    if (std::ranges::any_of(n.inputs, is_trained)) trained_.insert(n.name);
}

NamedValues<Tensor> SegmentedRun::inputs_of(const Graph& g) const {
  NamedValues<Tensor> inputs;
  for (const std::string& name : g.inputs()) inputs.emplace(name, values_.at(name));
  return inputs;
}

std::unique_ptr<SegmentedRun::Recording> SegmentedRun::record(const Graph& g) const {
  auto r = std::make_unique<Recording>();
  const auto leaf = [&](const std::string& name, const Tensor& x, const OutFormat& gradient) {
    r->leaves.push_back(name);
    return r->tape.parameter(x, gradient);
  };
  NamedValues<Var> weights, inputs;
  for (const Weight& w : g.weights()) {
    const StepWeight& given = weights_.at(w.name);
    weights.emplace(w.name,
                    given.gradient ? leaf(w.name, given.value, *given.gradient) : Var(given.value));
  }
  for (const auto& [name, x] : inputs_of(g))
    inputs.emplace(name, trained_.contains(name) && is_prunable(x.dtype())
                             ? leaf(name, x, OutFormat::dense())
                             : Var(x));
  r->outputs = g.run<Var>(weights, inputs);
  return r;
}

void SegmentedRun::add(const std::string& leaf, Tensor gradient) {
  const auto [at, is_first] = gradients_.try_emplace(leaf, gradient);
  if (!is_first) add_gradient(at->second, gradient);
}

// A segment less uses the weight.
void SegmentedRun::finish(const std::string& weight, const Receiver& to) {
  if (--uses_.find(weight)->second > 0) return;
  const auto sum = gradients_.find(weight);
  if (sum != gradients_.end())
    to(weights_.find(weight)->second.number, gradients_.extract(sum).mapped());
}

void SegmentedRun::backward(const std::string& loss, Tensor seed, const Receiver& to) {
  gradients_.emplace(loss, std::move(seed));
  for (std::size_t i = graph_.segments().size(); i-- > 0;) {
    const auto& [graph, later] = graph_.segments()[i];
    const auto has_gradient = [&](const std::string& name) { return gradients_.contains(name); };
    const bool is_last = i + 1 == graph_.segments().size();
    std::set<std::string> received;
    if (std::ranges::any_of(graph.outputs(), has_gradient)) {
      const std::unique_ptr<Recording> r = is_last ? std::move(last_) : record(graph);
      std::vector<Tape::Seed> seeds;
      for (const auto& [name, y] : r->outputs)
        if (y.wants_grad() && has_gradient(name))
          seeds.emplace_back(&y, gradients_.extract(name).mapped());
      for (const std::string& name : later) values_.erase(name);
      r->tape.backward(seeds, [&](std::size_t k, Tensor gradient) {
        const std::string& leaf = r->leaves[k];
        add(leaf, std::move(gradient));
        if (uses_.contains(leaf)) {
          received.insert(leaf);
          finish(leaf, to);
        }
      });
    }
    for (const Weight& w : graph.weights())
      if (uses_.contains(w.name) && !received.contains(w.name)) finish(w.name, to);
  }
}

}  // namespace sten
