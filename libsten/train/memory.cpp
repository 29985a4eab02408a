#include "libsten/train/memory.h"

#include <algorithm>

#include "libsten/dispatch/registry.h"

namespace sten {
namespace {

using Shapes = std::map<std::string, Shape, std::less<>>;

// Of a node's value. What is not known here has the shape of its largest input.
Shape result_of(const Node& n, const std::vector<Shape>& in) {
  const std::string_view op = n.op.text();
  if (op == "linear") {
    Shape y = in[0];
    if (!y.empty()) y.back() = in[1][0];
    return y;
  }
  if (op == "embedding" ||
      (op == "gather" && !in[0].empty() && n.attributes.integer("axis", 0) == 0)) {
    Shape y = in[1];
    y.insert(y.end(), in[0].begin() + 1, in[0].end());
    return y;
  }
  if (op == "reshape" && n.attributes.has("shape")) {
    Shape y = n.attributes.list("shape", {});
    Index known = 1, *open = nullptr;
    for (Index& e : y) {
      if (e < 0)
        open = &e;
      else
        known *= e;
    }
    if (open) *open = size_of(in[0]) / std::max<Index>(known, 1);
    return size_of(y) == size_of(in[0]) ? y : in[0];
  }
  return *std::ranges::max_element(in, {}, [](const Shape& s) { return size_of(s); });
}

// Bytes of the values of a part.
struct ValueBytes {
  Index all = 0, largest = 0;
  Index passing = 0;  // at most at a time, where each is let go after its last use
};

// The last node that needs a value.
std::map<std::string, std::size_t, std::less<>> last_uses(const Graph& g) {
  std::map<std::string, std::size_t, std::less<>> last;
  for (std::size_t i = 0; i < g.nodes().size(); ++i)
    for (const std::string& name : g.nodes()[i].inputs) last[name] = i;
  return last;
}

ValueBytes values_of(const Graph& g, const BatchPart& part) {
  Shapes shapes;
  for (const auto& [name, x] : part.inputs) shapes[name] = x.shape();
  for (const Weight& w : g.weights()) shapes[w.name] = w.shape;
  for (const Constant& c : g.constants()) shapes[c.name] = c.value.extents;
  const auto last = last_uses(g);
  ValueBytes v;
  Index live = 0;
  for (std::size_t i = 0; i < g.nodes().size(); ++i) {
    const Node& n = g.nodes()[i];
    std::vector<Shape> in;
    for (const std::string& name : n.inputs) in.push_back(shapes.at(name));
    const Shape y = result_of(n, in);
    shapes[n.name] = y;
    const Index bytes = 4 * size_of(y);
    v.largest = std::max(v.largest, bytes);
    // Views of others take nothing.
    if (n.op.text() == "reshape") continue;
    v.all += bytes;
    live += bytes;
    v.passing = std::max(v.passing, live);
    for (std::size_t k = 0; k < in.size(); ++k)
      if (g.find_node(n.inputs[k]) && last.at(n.inputs[k]) == i) live -= 4 * size_of(in[k]);
  }
  return v;
}

}  // namespace

TrainMemory estimate_memory(const Task& task, const std::vector<WeightStages>& stages) {
  TrainMemory m;
  for (const Weight& w : task.graph().weights()) m.weights += 4 * size_of(w.shape);
  m.gradients = m.weights;
  const OptimizerRecipe& o = task.recipe().optimizer;
  m.optimizer = o.kind == "adamw" ? 2 * m.weights : o.momentum > 0 ? m.weights : 0;
  for (const WeightStages& p : stages) {
    const Index n = size_of(task.graph().find_weight(p.weight)->shape);
    m.sparsity += ceil_div(n, 8);
    if (registry().sparsifier(p.stages.back().by).needs_scores()) m.sparsity += 4 * n;
  }
  const auto parts = task.batch(0);
  if (parts.empty()) return m;
  const ValueBytes v = values_of(task.graph(), parts.front());
  // Gradients of values are there for two operators at a time.
  m.values = v.all + 2 * v.largest;
  const Recipe& r = task.recipe();
  if (task.has(DataSplit::validation) || (r.evaluation.test && task.has(DataSplit::test)))
    m.evaluation =
        std::max<Index>(0, v.passing * r.evaluation.batch / (r.batch / r.accumulate) - m.values);
  return m;
}

}  // namespace sten
