// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/step_routes.h"

#include "libsten/core/layout/masked.h"
#include "libsten/core/sparsify/same_pattern.h"
#include "libsten/training/task/step_formats.h"
#include "libsten/training/trainer/distillation.h"

namespace sten {
namespace {

// The format of gradients as StepGraph::gradient_format() chooses it, except that a preview takes
// the gradient of accumulated scores for one of the pattern.
WeightRoute route_of(const WeightStages& s, Index step) {
  WeightRoute route;
  const bool has_scores = s.has_scores(step) && s.stages.front().step <= step;
  if (!s.current(step) && !has_scores) return route;
  route.layout = Name(s.layout.name());
  const bool has_dense_values = s.layout.is(Masked::name) || s.layout.is(Dense::name);
  if (!has_dense_values && !has_scores && !s.is_straight_through() && !s.refreshes(step))
    route.grad = OutFormat::fused(SamePattern{}, s.layout);
  return route;
}

}  // namespace

std::vector<NodeRoute> step_routes(const Task& task, const std::vector<WeightStages>& stages,
                                   Index step) {
  const Graph g = with_formats(training_graph(task), task.recipe(), step);
  NamedValues<WeightRoute> weights;
  for (const WeightStages& s : stages) weights.emplace(s.weight, route_of(s, step));
  for (const Weight& w : g.weights())
    if (w.format.grad) weights[w.name].grad = *w.format.grad;
  const std::size_t loss = task.graph().outputs().size() - (task.recipe().distillation ? 0 : 1);
  return node_routes(g, weights, g.outputs()[loss]);
}

}  // namespace sten
