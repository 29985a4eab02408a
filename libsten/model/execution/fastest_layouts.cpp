// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/execution/fastest_layouts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "libsten/core/base/error.h"
#include "libsten/core/base/name_pattern.h"
#include "libsten/core/registry/route.h"
#include "libsten/model/graph/ignored_zeros.h"

namespace sten {
namespace {

constexpr int timed_runs = 3;

// A weight and the layouts that can hold it, starting with its own.
struct Candidate {
  LayoutChoice choice;
  std::vector<std::string> layouts;
};

// none if the layout cannot hold all elements.
std::optional<Tensor> in_layout(const Tensor& w, const std::string& layout) {
  if (w.spec().str() == layout) return w;
  try {
    return convert(w, Spec::parse(layout));
  } catch (const Error&) {
    return {};
  }
}

// An executor of the graph with these weights; nodes and steps by name.
class Measured {
 public:
  Measured(const Graph& g, const NamedValues<Tensor>& values,
           const std::vector<PrecisionRule>& precision)
      : executor_(g, some(g, values), {.precision = precision}) {
    for (const std::string& name : g.inputs()) inputs_.emplace(name, values.find(name)->second);
    executor_.run(inputs_);
  }

  const ExecutionPlan& plan() const { return executor_.plan(); }
  // The minimum over some runs of the time of each weight's nodes.
  std::map<std::string, double> seconds(const std::vector<const Candidate*>& of) {
    std::map<std::string, double> least;
    for (int run = 0; run < timed_runs; ++run) {
      executor_.run(inputs_);
      for (const Candidate* c : of) {
        double sum = 0;
        for (const ExecutionStep& s : executor_.plan().steps)
          if (std::ranges::find_first_of(s.nodes, c->choice.nodes) != s.nodes.end())
            sum += s.seconds;
        const auto [at, is_new] = least.emplace(c->choice.weight, sum);
        at->second = std::min(at->second, sum);
      }
    }
    return least;
  }

 private:
  static NamedValues<Tensor> some(const Graph& g, const NamedValues<Tensor>& values) {
    NamedValues<Tensor> weights;
    for (const Weight& w : g.weights()) weights.emplace(w.name, values.find(w.name)->second);
    return weights;
  }

  Executor executor_;
  NamedValues<Tensor> inputs_;
};

// The start of LayoutChoice::use.
std::string shape_text(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

std::vector<Candidate> candidates(const Graph& g, const NamedValues<Tensor>& values,
                                  const std::vector<std::string>& names) {
  std::vector<Candidate> all;
  for (const std::string& name : names) {
    const Tensor& w = values.find(name)->second;
    if (w.dtype() != DType::F32 && w.dtype() != DType::BF16) continue;
    if (w.shape().size() < 2 || size_of(w.shape()) == 0) continue;
    std::vector<const Node*> nodes;
    for (const Node& n : g.nodes())
      if (std::ranges::count(n.inputs, name) > 0) nodes.push_back(&n);
    const double share = share_of_nonzeros(w);
    if (nodes.empty() || (share > most_nonzeros && w.layout() == Dense::name)) continue;
    Candidate c{{name, {}, "", {}, "", false}, {w.spec().str()}};
    for (const Node* n : nodes) c.choice.nodes.push_back(n->name);
    for (const char* text : {"dense", "csr", "nm:n=2,m=4", "nm:n=1,m=4", "nm:n=1,m=8"}) {
      const auto takes = [&](const Node* n) {
        const auto plan = plan_with_weight(g, values, *n, name, Spec::parse(text));
        return plan && plan->kind == DispatchKind::exact;
      };
      if (text != c.layouts.front() && std::ranges::all_of(nodes, takes) && in_layout(w, text))
        c.layouts.emplace_back(text);
    }
    c.choice.use = fmt::format("{}{}, {:.2g} nonzero, in {}", shape_text(w.shape()),
                               w.dtype() == DType::BF16 ? " of BF16" : "", share,
                               fmt::join(c.layouts, " or "));
    if (c.layouts.size() > 1) all.push_back(std::move(c));
  }
  return all;
}

// "linear of 128 tokens": the use of a weight.
std::string work_of(const Node& n, const Shape& result) {
  const std::string attributes =
      n.attributes.all().empty() ? "" : fmt::format(" {}", n.attributes.str());
  if (n.op.text() != "linear" || result.empty())
    return fmt::format("{}{} to [{}]", n.op.text(), attributes, fmt::join(result, ", "));
  const Index tokens = size_of(result) / std::max<Index>(1, result.back());
  return fmt::format("linear{} of {} tokens", attributes, tokens);
}

// The shape of the result of the node's step.
Shape shape_of(const ExecutionPlan& plan, const std::string& node) {
  for (const ExecutionStep& s : plan.steps)
    if (std::ranges::count(s.nodes, node) > 0) return s.shape;
  return {};
}

// Whether the first rule that matches the node is bfloat16.
bool is_low(const Node& n, const std::vector<PrecisionRule>& precision) {
  const auto rule = std::ranges::find_if(
      precision, [&](const PrecisionRule& r) { return NamePattern(r.nodes).matches(n.name); });
  return rule != precision.end() && rule->precision == Precision::bf16;
}

// Completes LayoutChoice::use by the weight's nodes.
void add_work(const Graph& g, const ExecutionPlan& plan,
              const std::vector<PrecisionRule>& precision, std::vector<Candidate>& all) {
  for (Candidate& c : all)
    for (const std::string& name : c.choice.nodes) {
      const Node& node = *g.find_node(name);
      c.choice.use += "; ";
      c.choice.use += work_of(node, shape_of(plan, name));
      if (is_low(node, precision)) c.choice.use += " in bf16";
    }
}

void choose(Candidate& c, const SecondsByLayout& times) {
  c.choice.layout = c.layouts.front();
  for (const auto& [layout, seconds] : times) {
    if (std::ranges::count(c.layouts, layout) == 0) continue;
    c.choice.seconds.emplace(layout, seconds);
    const auto best = c.choice.seconds.find(c.choice.layout);
    if (best == c.choice.seconds.end() || seconds < best->second) c.choice.layout = layout;
  }
}

void measure(const Graph& g, const NamedValues<Tensor>& values,
             const std::vector<PrecisionRule>& precision, std::vector<Candidate>& all,
             LayoutTimes& known) {
  std::set<std::string> layouts;
  for (Candidate& c : all) {
    c.choice.measured = !known.contains(c.choice.use);
    if (c.choice.measured) layouts.insert(c.layouts.begin(), c.layouts.end());
  }
  LayoutTimes counts;
  for (const std::string& layout : layouts) {
    NamedValues<Tensor> trial = values;
    std::vector<const Candidate*> those;
    for (const Candidate& c : all) {
      if (!c.choice.measured || std::ranges::count(c.layouts, layout) == 0) continue;
      Tensor& w = trial.find(c.choice.weight)->second;
      w = *in_layout(w, layout);
      those.push_back(&c);
    }
    std::map<std::string, double> seconds;
    try {
      seconds = Measured(g, trial, precision).seconds(those);
    } catch (const Error&) {
      continue;  // an operator has no implementation for this layout
    }
    for (const Candidate* c : those) {
      known[c->choice.use][layout] += seconds.at(c->choice.weight);
      ++counts[c->choice.use][layout];
    }
  }
  for (const auto& [use, of] : counts)
    for (const auto& [layout, count] : of) known[use][layout] /= count;
}

}  // namespace

std::vector<LayoutChoice> known_choices(const Graph& g, const NamedValues<Tensor>& values,
                                        const std::vector<std::string>& names,
                                        const LayoutTimes& known, const ExecutionPlan& plan,
                                        const std::vector<PrecisionRule>& precision) {
  std::vector<std::string> some;  // weights of unknown shapes take no time here
  for (const std::string& name : names) {
    const std::string shape = shape_text(values.find(name)->second.shape());
    const auto at = known.lower_bound(shape);
    if (at != known.end() && at->first.starts_with(shape)) some.push_back(name);
  }
  std::vector<LayoutChoice> all;
  std::vector<Candidate> found = candidates(g, values, some);
  add_work(g, plan, precision, found);
  for (Candidate& c : found)
    if (const auto at = known.find(c.choice.use); at != known.end()) {
      choose(c, at->second);
      all.push_back(std::move(c.choice));
    }
  return all;
}

FastestLayouts in_fastest_layouts(const Graph& g, const NamedValues<Tensor>& values,
                                  const std::vector<std::string>& names, LayoutTimes& known,
                                  const std::vector<PrecisionRule>& precision) {
  FastestLayouts result;
  for (const std::string& name : names) result.weights.emplace(name, values.find(name)->second);
  std::vector<Candidate> all = candidates(g, values, names);
  if (all.empty()) return result;
  add_work(g, Measured(g, values, precision).plan(), precision, all);
  measure(g, values, precision, all, known);
  for (Candidate& c : all) {
    Tensor& w = result.weights.find(c.choice.weight)->second;
    choose(c, known[c.choice.use]);
    w = *in_layout(w, c.choice.layout);
    result.choices.push_back(std::move(c.choice));
  }
  return result;
}

std::optional<double> slowdown(const LayoutChoice& c, const std::string& layout) {
  const auto own = c.seconds.find(layout), dense = c.seconds.find("dense");
  if (own == c.seconds.end() || dense == c.seconds.end()) return {};
  const double times = own->second / dense->second;
  return times > least_slowdown ? std::optional(times) : std::nullopt;
}

}  // namespace sten
