#include "libsten/model/graph/routes.h"

#include <algorithm>

#include "libsten/core/base/text.h"

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

OutSignature written(const OutFormat& f) { return {f.inline_by, f.tmp.name()}; }

class Walk {
 public:
  Walk(const Graph& g, const NamedValues<WeightRoute>& weights) : graph_(g) {
    for (const std::string& name : g.inputs()) values_[name];
    for (const Constant& c : g.constants()) values_[c.name];
    for (const Weight& w : g.weights()) {
      Value& v = values_[w.name];
      v.wants_grad = !g.is_statistic(w.name);
      const auto at = weights.find(w.name);
      if (at == weights.end()) continue;
      v.layout = at->second.layout.text().empty() ? Name("dense") : at->second.layout;
      v.wants_grad = at->second.grad.has_value();
      if (v.wants_grad) v.grad = &*at->second.grad;
    }
  }

  std::vector<NodeRoute> routes(const std::string& from) {
    if (!graph_.find_node(from)) fail_usage("unknown node {}", quote(from));
    std::vector<NodeRoute> all;
    for (const Node& n : graph_.nodes()) all.push_back({n.name, n.op, forward(n), nullptr});
    const auto& nodes = graph_.nodes();
    values_.at(from).uses = 1;
    for (std::size_t i = nodes.size(); i-- > 0;) {
      if (values_.at(nodes[i].name).uses == 0 || !values_.at(nodes[i].name).wants_grad) continue;
      for (const std::string& name : nodes[i].inputs)
        if (Value& v = values_.at(name); v.wants_grad) ++v.uses;
    }
    for (std::size_t i = nodes.size(); i-- > 0;) {
      const Value& y = values_.at(nodes[i].name);
      if (y.uses > 0 && y.wants_grad) all[i].backward = backward(nodes[i]);
    }
    return all;
  }

 private:
  std::shared_ptr<const Plan> forward(const Node& n) {
    Signature s{n.op, {}, {written(n.formats.out)}};
    bool wants_grad = false;
    for (const std::string& name : n.inputs) {
      const Value& v = values_.at(name);
      s.in.push_back(v.layout);
      wants_grad |= v.wants_grad;
    }
    values_[n.name] = {Name(n.formats.out.layout.name()), wants_grad && has_gradient(n.op), 0,
                       &n.formats.grad};
    return operators().plan(s);
  }

  std::shared_ptr<const Plan> backward(const Node& n) {
    const Value& y = values_.at(n.name);
    Signature s{grad_of(n.op), {Name(y.grad->layout.name())}, {}};
    const SavedForBackward saves = operators().what(n.op).saves;
    if (saves == SavedForBackward::outputs) s.in.push_back(y.layout);
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      const Value& v = values_.at(n.inputs[i]);
      if (saves == SavedForBackward::inputs || (saves == SavedForBackward::others && i > 0))
        s.in.push_back(v.layout);
      const bool as_asked = v.uses == 1 || v.grad->is_additive();
      s.out.push_back(!v.wants_grad ? OutSignature::none()
                      : as_asked    ? written(*v.grad)
                                    : OutSignature());
    }
    return operators().plan(s);
  }

  const Graph& graph_;
  NamedValues<Value> values_;
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
