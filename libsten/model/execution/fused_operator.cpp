// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/execution/fused_operator.h"

#include <algorithm>
#include <ctime>

#include "libsten/core/base/parallel.h"
#include "libsten/model/execution/token_instructions.h"

namespace sten::execution {
namespace {

// Whether a node can read its input i in panels.
bool takes_panels(const Node& n, std::size_t i) {
  const std::string_view op = n.op.text();
  if (op == "linear" || op == "layer-norm" || op == "rms-norm" || op == "rotary" ||
      float_map(op, n.attributes))
    return i == 0;
  if (op == "attention") return i < 3;
  if (is_feature_slice(n)) return i == 0;
  return op == "add" || op == "mul";
}

// Calls f(index of a node, input) for each use of the value from a node on.
template <class F>
bool any_use(const PlanContext& plan, std::size_t value, std::size_t from, F&& f) {
  for (std::size_t n = from; n < plan.graph.nodes().size(); ++n)
    for (std::size_t i = 0; i < plan.graph.arguments(n).size(); ++i)
      if (plan.graph.arguments(n)[i] == value && f(n, i)) return true;
  return false;
}

}  // namespace

bool is_feature_slice(const Node& n) {
  return n.op.text() == "slice" && n.inputs.size() == 1 && n.attributes.all().size() == 3 &&
         n.attributes.integer("axis", 0) == -1 && n.attributes.has("begin") &&
         n.attributes.has("end");
}

double now() {
  timespec t{};
  clock_gettime(threads() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

bool PlanContext::wants_tensor(std::size_t value, std::size_t from) const {
  if (std::ranges::find(graph.output_values(), value) != graph.output_values().end()) return true;
  return any_use(*this, value, from,
                 [&](std::size_t n, std::size_t i) { return !takes_panels(graph.nodes()[n], i); });
}

bool PlanContext::wants_panels(std::size_t value, std::size_t from) const {
  return any_use(*this, value, from,
                 [&](std::size_t n, std::size_t i) { return takes_panels(graph.nodes()[n], i); });
}

bool PlanContext::is_summed(std::size_t value, std::size_t from) const {
  return any_use(*this, value, from,
                 [&](std::size_t n, std::size_t) { return graph.nodes()[n].op.text() == "add"; });
}

bool PlanContext::wants_interleaved(std::size_t value, std::size_t from) const {
  return wants_panels(value, from) &&
         !any_use(*this, value, from, [&](std::size_t n, std::size_t i) {
           const Node& node = graph.nodes()[n];
           const std::string_view op = node.op.text();
           const bool is_float32 = !low[n] || op == "add" || op == "layer-norm" || op == "rms-norm";
           return takes_panels(node, i) && is_float32;
         });
}

}  // namespace sten::execution
