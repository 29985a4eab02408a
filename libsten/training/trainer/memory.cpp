// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/memory.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "libsten/core/registry/registry.h"
#include "libsten/training/trainer/compressed_exchange.h"
#include "libsten/training/trainer/segmented_graph.h"
#include "libsten/training/trainer/value_shapes.h"

namespace sten {
namespace {

// Nodes that share the values of their input.
bool is_view(const Node& n) {
  constexpr std::string_view all[]{"reshape", "squeeze", "unsqueeze", "flatten", "identity"};
  return std::ranges::count(all, n.op.text()) > 0;
}

// Bytes of the values of all rows in the dense and the pruned model, and of the inputs' statistics.
// `v`: of a part of a batch.
Index calibration_bytes(const Task& task, const std::vector<WeightStages>& stages,
                        const ValueBytes& v) {
  const Recipe& r = task.recipe();
  Index rows = 0, widest = 0;
  for (const WeightStages& p : stages) {
    if (!p.calibration) continue;
    rows = std::max(rows, p.calibration->rows);
    widest = std::max(widest, task.graph().find_weight(p.weight)->shape.back());
  }
  return 2 * v.passing * rows / (r.batch / task.parts()) + 4 * 4 * widest * widest;
}

// Bytes of RecoveryState::before, of the largest weight of each entry.
Index bytes_before(const Task& task, const std::vector<WeightStages>& stages) {
  const Recipe& r = task.recipe();
  const Index copies = 1 + r.optimizer.state_values() + (r.ema > 0 ? 1 : 0);
  std::map<std::size_t, Index> largest;
  for (const WeightStages& p : stages)
    if (r.sparsity[p.entry].schedule.prunes_until_recovered())
      largest[p.entry] =
          std::max(largest[p.entry], size_of(task.graph().find_weight(p.weight)->shape));
  Index bytes = 0;
  for (const auto& [entry, n] : largest) bytes += 4 * copies * n;
  return bytes;
}

}  // namespace

ValueBytes value_bytes(const Graph& g, const NamedValues<Tensor>& inputs) {
  const ValueShapes values(g, inputs, true);
  const std::vector<Node>& nodes = g.nodes();
  const std::size_t first = g.first_node();
  // The value that a value is a view of, and the last node that needs this value.
  std::vector<std::size_t> root(g.value_count()), last(g.value_count());
  std::iota(root.begin(), root.end(), 0);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::size_t value : g.arguments(i)) last[root[value]] = i;
    if (is_view(nodes[i])) root[first + i] = root[g.arguments(i)[0]];
  }
  ValueBytes v;
  Index live = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Index bytes = values.bytes(first + i);
    v.largest = std::max(v.largest, bytes);
    if (!is_view(nodes[i])) {
      v.all += bytes;
      live += bytes;
    }
    v.passing = std::max(v.passing, live);
    for (const std::size_t value : g.arguments(i)) {
      if (root[value] < first || last[root[value]] != i) continue;
      live -= values.bytes(root[value]);
      last[root[value]] = nodes.size();  // released once
    }
  }
  return v;
}

TrainMemory estimate_memory(const Task& task, const std::vector<WeightStages>& stages) {
  TrainMemory m;
  const ExchangeRecipe& e = task.recipe().exchange;
  Index residuals = 0;
  for (const Weight& w : task.graph().weights()) {
    m.weights += 4 * size_of(w.shape);
    if (!task.trains(w.name)) continue;
    m.gradients += 4 * size_of(w.shape);
    if (e.compresses() && e.error_feedback && is_compressible(w.shape))
      residuals += 4 * size_of(w.shape);
  }
  const Index per_value = task.recipe().optimizer.state_values();
  m.optimizer = per_value * m.gradients;
  if (task.recipe().ema > 0) m.optimizer += m.gradients;
  m.gradients += residuals;
  if (task.recipe().distillation) m.teacher = m.weights;
  for (const WeightStages& p : stages) {
    const Index n = size_of(task.graph().find_weight(p.weight)->shape);
    m.sparsity += ceil_div(n, 8);
    if (p.is_straight_through() || p.scores) m.sparsity += 4 * n;
    // Gradients of scores, and their optimizer state.
    if (p.scores) m.sparsity += 4 * n * (1 + per_value);
    if (registry().sparsifier(p.stages.back().by).needs_scores()) m.sparsity += 4 * n;
  }
  m.sparsity += bytes_before(task, stages);
  const auto parts = task.batch(0);
  if (parts.empty()) return m;
  const ValueBytes v = value_bytes(task.graph(), parts.front().inputs);
  // At most two operators have gradients of values at a time.
  m.values = v.all + 2 * v.largest;
  if (task.recipe().activation_checkpointing) {
    const SegmentedGraph segments(task.graph(), parts.front().inputs);
    m.values = segments.stored_bytes() + segments.largest_bytes() + 2 * v.largest;
  }
  if (m.teacher > 0) m.teacher += v.passing;
  const Recipe& r = task.recipe();
  if (task.has(DataSplit::validation) || (r.evaluation.test && task.has(DataSplit::test)))
    m.evaluation =
        std::max<Index>(0, v.passing * r.evaluation.batch / (r.batch / task.parts()) - m.values);
  m.calibration = std::max<Index>(0, calibration_bytes(task, stages, v) - m.values);
  return m;
}

}  // namespace sten
