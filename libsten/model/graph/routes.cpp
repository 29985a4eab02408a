// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/graph/routes.h"

#include <algorithm>

#include "libsten/core/base/text.h"
#include "libsten/core/dispatch/format_signature.h"
#include "libsten/core/dispatch/inlined_plan.h"

namespace sten {
namespace {

// The tape's properties of a value.
struct Value {
  Name layout{"dense"};
  bool wants_grad = false;
  Index uses = 0;  // on the path to the node where gradients start
  const OutFormat* grad = &OutFormat::dense();
};

Name grad_of(Name op) { return std::string(op.text()) + ".grad"; }

// False for comparisons, for instance, whose values are integers.
bool has_gradient(Name op) { return !operators().patterns(grad_of(op)).empty(); }

class Walk {
 public:
  Walk(const Graph& g, const NamedValues<WeightRoute>& weights)
      : graph_(g), values_(g.value_count()) {
    for (std::size_t next = g.first_weight(); const Weight& w : g.weights()) {
      Value& v = values_[next++];
      v.wants_grad = !g.is_statistic(w.name);
      const auto at = weights.find(w.name);
      if (at == weights.end()) continue;
      v.layout = at->second.layout.text().empty() ? Name("dense") : at->second.layout;
      v.wants_grad = at->second.grad.has_value();
      if (v.wants_grad) v.grad = &*at->second.grad;
    }
  }

  std::vector<NodeRoute> routes(const std::string& from) {
    const auto& nodes = graph_.nodes();
    const Node* start = graph_.find_node(from);
    if (!start) fail_usage("unknown node {}", quote(from));
    std::vector<NodeRoute> all;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      all.push_back({nodes[i].name, nodes[i].op, forward(i), nullptr});
    value_of(static_cast<std::size_t>(start - nodes.data())).uses = 1;
    for (std::size_t i = nodes.size(); i-- > 0;) {
      if (!passes_gradient(i)) continue;
      for (const std::size_t x : graph_.arguments(i))
        if (Value& v = values_[x]; v.wants_grad) ++v.uses;
    }
    for (std::size_t i = nodes.size(); i-- > 0;)
      if (passes_gradient(i)) all[i].backward = backward(i);
    return all;
  }

 private:
  Value& value_of(std::size_t node) { return values_[graph_.first_node() + node]; }
  bool passes_gradient(std::size_t node) {
    return value_of(node).uses > 0 && value_of(node).wants_grad;
  }

  std::shared_ptr<const Plan> forward(std::size_t node) {
    const Node& n = graph_.nodes()[node];
    Signature s{n.op, {}, {signature_of(&n.formats.out)}};
    bool wants_grad = false;
    for (const std::size_t x : graph_.arguments(node)) {
      s.in.push_back(values_[x].layout);
      wants_grad |= values_[x].wants_grad;
    }
    value_of(node) = {Name(n.formats.out.layout.name()), wants_grad && has_gradient(n.op), 0,
                      &n.formats.grad};
    const OutFormat* formats[] = {&n.formats.out};
    return inlined_plan(operators(), std::move(s), formats).plan;
  }

  std::shared_ptr<const Plan> backward(std::size_t node) {
    const Node& n = graph_.nodes()[node];
    const Value& y = value_of(node);
    Signature s{grad_of(n.op), {Name(y.grad->layout.name())}, {}};
    std::vector<const OutFormat*> formats;
    const SavedForBackward saves = operators().what(n.op).saves;
    if (saves == SavedForBackward::outputs) s.in.push_back(y.layout);
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      const Value& v = values_[graph_.arguments(node)[i]];
      if (saves == SavedForBackward::inputs || (saves == SavedForBackward::others && i > 0))
        s.in.push_back(v.layout);
      const bool as_asked = v.uses == 1 || v.grad->is_additive();
      formats.push_back(!v.wants_grad ? nullptr : as_asked ? v.grad : &OutFormat::dense());
      s.out.push_back(signature_of(formats.back()));
    }
    return inlined_plan(operators(), std::move(s), formats).plan;
  }

  const Graph& graph_;
  std::vector<Value> values_;  // by number
};

}  // namespace

std::vector<NodeRoute> node_routes(const Graph& g, const NamedValues<WeightRoute>& weights,
                                   const std::string& from) {
  return Walk(g, weights).routes(from);
}

std::vector<std::string> route_lines(const std::vector<NodeRoute>& routes) {
  std::vector<std::pair<std::string, std::vector<std::string>>> lines;
  const auto put = [&](const std::shared_ptr<const Plan>& plan, const std::string& node) {
    if (!plan) return;
    auto at = std::ranges::find(lines, plan->text, [](const auto& l) { return l.first; });
    if (at == lines.end()) at = lines.insert(at, {plan->text, {}});
    at->second.push_back(node);
  };
  for (const NodeRoute& r : routes) put(r.forward, r.node);
  for (auto r = routes.rbegin(); r != routes.rend(); ++r) put(r->backward, r->node);
  std::vector<std::string> texts;
  for (const auto& [plan, nodes] : lines)
    texts.push_back(
        fmt::format("{}: {}{}", plan, nodes.front(),
                    nodes.size() > 1 ? fmt::format(" and {} more", nodes.size() - 1) : ""));
  return texts;
}

}  // namespace sten
