// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/step_graph.h"

#include "libsten/core/dispatch/out_format.h"
#include "libsten/core/layout/masked.h"
#include "libsten/training/task/step_formats.h"
#include "libsten/training/trainer/distillation.h"
#include "libsten/training/trainer/products.h"
#include "libsten/training/trainer/running_statistics.h"

namespace sten {
namespace {

// Applies the format to a dense gradient of the weight w.
Tensor formatted(const Tensor& gradient, const OutFormat& f, const Tensor& w) {
  const Mask pattern = w.stored();
  const Hints hints{.pattern = &pattern};
  return sparsify(sparsify(gradient, f.inline_by, f.tmp, hints), f.external, f.layout, hints);
}

}  // namespace

StepGraph::StepGraph(const Task& task, Device device)
    : task_(task),
      factors_(device_products_of(task.recipe(), device)),
      plain_(with_moments(training_graph(task))),
      graph_(plain_),
      // The last output of training_graph(), before the moments.
      loss_(
          plain_.outputs()[task.graph().outputs().size() - (task.recipe().distillation ? 0 : 1)]) {}

void StepGraph::begin(Index step) {
  const Recipe& r = task_.recipe();
  if (r.formats.empty() || (has_formats_ && !formats_change(r, step))) return;
  graph_ = with_formats(plain_, r, step);
  segments_.reset();
  has_formats_ = true;
}

const SegmentedGraph& StepGraph::segments(const NamedValues<Tensor>& inputs) {
  if (!segments_)
    segments_ = task_.recipe().activation_checkpointing ? SegmentedGraph(graph_, inputs)
                                                        : SegmentedGraph(graph_);
  return *segments_;
}

// A sparsifier needs the gradient of the whole batch: the gradients of parts and ranks are summed
// first, unless all have the positions of a sparse weight.
bool StepGraph::is_formatted_by_tape(const OutFormat& gradient, const Tensor& w) const {
  const bool is_alike =
      gradient.is_additive() && !is_keep_all(gradient.inline_by) && !w.is<Dense>();
  return is_alike || task_.parts() == 1;
}

// The gradient of a masked weight is dense: masking in the optimizer's pass is cheaper than in a
// separate one.
const OutFormat& StepGraph::gradient_format(std::size_t i, const Tensor& w, bool all_positions,
                                            OutFormat& own) const {
  if (const auto& asked = graph_.weights()[i].format.grad)
    return is_formatted_by_tape(*asked, w) ? *asked : OutFormat::dense();
  if (has_dense_values(w) || all_positions) return OutFormat::dense();
  own = OutFormat::same_as(w);
  return own;
}

Tensor StepGraph::zero_gradient(std::size_t i, const Tensor& w, bool all_positions) const {
  OutFormat own;
  const OutFormat& f = gradient_format(i, w, all_positions, own);
  if (&f == &own) return w.with_values(Values(DType::F32, w.values()->size(), w.device()));
  const Tensor zeros = Dense{w.shape(), Values(DType::F32, size_of(w.shape()), w.device())};
  return w.is<Dense>() || f.is_dense() ? zeros : formatted(zeros, f, w);
}

void StepGraph::format(StepExchange::Gradients& gradients,
                       const std::vector<Parameter>& weights) const {
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const auto& asked = graph_.weights()[i].format.grad;
    const Tensor& w = weights[i].value;
    if (!gradients[i] || !asked || is_formatted_by_tape(*asked, w)) continue;
    gradients[i] = formatted(*gradients[i], *asked, w);
  }
}

}  // namespace sten
