// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/trace.h"

#include <algorithm>
#include <set>

#include "libsten/core/base/text.h"
#include "libsten/core/dispatch/sparsify.h"
#include "libsten/model/graph/inference.h"
#include "libsten/model/graph/routes.h"
#include "libsten/training/task/step_formats.h"
#include "libsten/training/task/weight_stages.h"
#include "libsten/training/trainer/value_shapes.h"

namespace sten {
namespace {

bool is_measured_in(const Recipe& r, const FormatRecipe& f) {
  if (f.of != "intermediate") return false;
  if (f.holds(0) || f.holds(r.steps - 1)) return true;
  // After k * every steps, the model is measured with the formats of the step before.
  const Index every = r.evaluation.every;
  return every > 0 && f.end / every > f.begin / every;
}

// Error, after `what`, if the layouts cannot hold a tensor of that shape.
void try_on(const std::string& what, DType dtype, const Shape& shape, const OutFormat& f) {
  const Shape smaller = smaller_shape(shape);
  const Dense values = dtype == DType::F32 ? random_values(smaller) : Dense::zeros(dtype, smaller);
  const Mask all = Mask::all(values.extents);
  const Hints hints{.pattern = &all};
  try {
    sparsify(sparsify(values, f.inline_by, f.tmp, hints), f.external, f.layout, hints);
  } catch (const Error& e) {
    throw Error(e.fault(), fmt::format("{}: {}", what, e.what()));
  }
}

class Trace {
 public:
  explicit Trace(const Task& task) : task_(task), recipe_(task.recipe()) {}

  void run() {
    const std::vector<BatchPart> parts = task_.batch(0);
    if (!parts.empty()) train(parts.front().inputs);
    if (recipe_.formats.empty()) return;
    for (const DataSplit split : {DataSplit::validation, DataSplit::test}) {
      const Index n = task_.data().parts(split);
      if (n == 0 || (split == DataSplit::test && !recipe_.evaluation.test)) continue;
      // The last part can have fewer rows.
      for (const Index i : std::set<Index>{0, n - 1})
        measure(task_.data().part(split, i), name_of(split));
    }
  }

 private:
  void train(const NamedValues<Tensor>& inputs) {
    if (recipe_.formats.empty()) const ValueShapes fits(task_.graph(), inputs);
    for (std::size_t i = 0; i < recipe_.formats.size(); ++i)
      try_entry(i, with_entry(i), task_.graph(), inputs, "");
  }

  void measure(const BatchPart& part, std::string_view split) {
    if (part.predictions == 0) return;
    for (std::size_t i = 0; i < recipe_.formats.size(); ++i)
      if (is_measured_in(recipe_, recipe_.formats[i]))
        try_entry(i, inference_graph(with_entry(i)), inference_graph(task_.graph()), part.inputs,
                  fmt::format(" of the {} split", split));
  }

  // The model with the formats of one entry.
  Graph with_entry(std::size_t i) const {
    Recipe one = recipe_;
    one.formats = {recipe_.formats[i]};
    return with_formats(task_.graph(), one, one.formats.front().begin);
  }

  // `g`: the graph with the entry's formats; `plain`: without.
  void try_entry(std::size_t i, const Graph& g, const Graph& plain,
                 const NamedValues<Tensor>& inputs, const std::string& where) {
    const ValueShapes shapes(g, inputs);
    for (const Weight& w : g.weights())
      if (w.format.grad) try_format(i, w.name, "", true, DType::F32, w.shape, *w.format.grad);
    for (std::size_t next = g.first_node(); const Node& n : g.nodes()) {
      const std::size_t value = next++;
      const bool is_gradient = !n.formats.grad.is_dense();
      if ((n.formats.out.is_dense() && !is_gradient) || (is_gradient && !has_gradient(n.name)))
        continue;
      const OutFormat& f = is_gradient ? n.formats.grad : n.formats.out;
      if (const auto shape = shapes.shape(value)) {
        try_format(i, n.name, where, is_gradient, shapes.dtype(value), *shape, f);
      } else {
        const Tensor x = computed(plain, n.name, inputs);
        try_format(i, n.name, where, is_gradient, x.dtype(), x.shape(), f);
      }
    }
  }

  // Computes a value whose operator has no shape rule.
  Tensor computed(const Graph& plain, const std::string& name, const NamedValues<Tensor>& inputs) {
    GraphParts parts = plain.parts();
    prune_to_outputs(parts, {name});
    NamedValues<Tensor> needed;
    for (const std::string& x : parts.inputs) needed.emplace(x, inputs.at(x));
    if (!weights_) weights_ = task_.first_weights();
    return Graph(std::move(parts)).run<Tensor>(*weights_, needed).at(name);
  }

  // Whether a step computes the gradient of a node's value. That of the loss is given.
  bool has_gradient(const std::string& node) {
    if (node == task_.graph().outputs().back()) return false;
    if (routes_.empty()) routes_ = node_routes(task_.graph(), {}, task_.graph().outputs().back());
    const auto at = std::ranges::find(routes_, node, &NodeRoute::node);
    return at != routes_.end() && at->backward;
  }

  void try_format(std::size_t i, const std::string& name, const std::string& where,
                  bool is_gradient, DType dtype, const Shape& shape, const OutFormat& f) {
    if (!tried_.insert(fmt::format("{} {} {}", i, name_of(dtype), to_string(shape))).second) return;
    try_on(fmt::format("/formats/{}/target: {}{}{}", i, is_gradient ? "the gradient of " : "",
                       quote(name), where),
           dtype, shape, f);
  }

  const Task& task_;
  const Recipe& recipe_;
  std::vector<NodeRoute> routes_;
  std::optional<NamedValues<Tensor>> weights_;
  std::set<std::string> tried_;
};

}  // namespace

void trace_training(const Task& task) { Trace(task).run(); }

}  // namespace sten
