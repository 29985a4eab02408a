// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/graph/graph.h"

#include <algorithm>
#include <set>

#include "libsten/core/base/hints.h"
#include "libsten/core/base/text.h"
#include "libsten/model/graph/node_errors.h"

namespace sten {
namespace {

constexpr const char* expected_values = " (expected an input, a weight, a constant or a node)";

void check_weight(const Weight& w) {
  try {
    checked_size(w.shape);
    for (const StackedWeight& s : w.stacked_in)
      if (s.first < 0 || s.first > checked_size(s.shape) - size_of(w.shape))
        fail_usage("elements from {} on are not in tensor {} {}", s.first, quote(s.tensor),
                   to_string(s.shape));
    if (w.init.is("zeros") || w.init.is("ones")) return w.init.check_keys({});
    if (!w.init.is("normal") && !w.init.is("uniform"))
      fail_usage(
          "{}", unknown_name("initializer", w.init.name(), {"zeros", "ones", "normal", "uniform"}));
    const char* key = w.init.is("normal") ? "std" : "bound";
    w.init.check_keys({key});
    if (!(w.init.number(key) >= 0)) fail_usage("{}: {} must be >= 0", quote(w.init.str()), key);
  } catch (const Error& e) {
    fail_usage("weight {}: {}", quote(w.name), e.what());
  }
}

void check_operator(const Node& n) {
  if (!operators().patterns(n.op).empty() && !n.op.text().ends_with(".grad")) return;
  std::vector<std::string> known;
  for (const Name op : operators().all())
    if (!op.text().ends_with(".grad")) known.emplace_back(op.text());
  fail_usage("node {}: unknown operator {}{}", quote(n.name), quote(n.op.text()),
             suggestion(n.op.text(), known));
}

template <class M>
std::vector<std::string> names_in(const M& numbers) {
  std::vector<std::string> all;
  for (const auto& [name, number] : numbers) all.push_back(name);
  return all;
}

// Adds names of `wanted` that `given` lacks, and unknown names, to `problem`.
template <Operand T>
void compare(const char* what, const std::vector<std::string>& wanted, const NamedValues<T>& given,
             std::string& problem) {
  std::size_t found = 0;
  for (const std::string& name : wanted) {
    if (given.contains(name))
      ++found;
    else
      problem += fmt::format("\n  missing {} {}", what, quote(name));
  }
  if (found == given.size()) return;
  for (const auto& [name, value] : given)
    if (std::ranges::find(wanted, name) == wanted.end())
      problem += fmt::format("\n  unknown {} {}{}", what, quote(name), suggestion(name, wanted));
}

Device place_of(const Tensor& t) { return t.device(); }
Device place_of(const Var& v) { return v.value().device(); }

// The device of the weights; of the inputs if there are no weights.
template <Operand T>
Device place_of(const NamedValues<T>& weights, const NamedValues<T>& inputs) {
  for (const auto* given : {&weights, &inputs})
    if (!given->empty()) return place_of(given->begin()->second);
  return Device::cpu;
}

std::vector<std::string> names_of(const std::vector<Weight>& weights) {
  std::vector<std::string> names;
  for (const Weight& w : weights) names.push_back(w.name);
  return names;
}

void check_given(const std::string& problem) {
  if (!problem.empty()) fail_usage("the graph's inputs do not match:{}", problem);
}

}  // namespace

Graph::Graph(GraphParts parts) : parts_(std::move(parts)) {
  const auto enter = [&](const std::string& name) {
    if (name.empty()) fail_usage("the graph has an empty name");
    if (!numbers_.emplace(name, numbers_.size()).second)
      fail_usage("the graph has the name {} twice", quote(name));
  };
  for (const std::string& name : parts_.inputs) enter(name);
  for (const Weight& w : parts_.weights) {
    enter(w.name);
    check_weight(w);
  }
  for (const Constant& c : parts_.constants) enter(c.name);
  std::set<std::string_view> nodes, aliases;
  for (const Node& n : parts_.nodes) nodes.insert(n.name);
  for (const Weight& w : parts_.weights)
    for (const std::string& alias : w.aliases)
      if (numbers_.contains(alias) || !aliases.insert(alias).second)
        fail_usage("weight {}: duplicate name {}", quote(w.name), quote(alias));
  for (const Node& n : parts_.nodes) {
    check_operator(n);
    std::vector<std::size_t>& from = arguments_.emplace_back();
    for (const std::string& name : n.inputs) {
      if (const auto at = numbers_.find(name); at != numbers_.end()) {
        from.push_back(at->second);
      } else if (nodes.contains(name)) {
        fail_usage("node {}: input {} is a later node: expected topological order", quote(n.name),
                   quote(name));
      } else {
        fail_usage("node {}: unknown input {}{}{}", quote(n.name), quote(name),
                   suggestion(name, names_in(numbers_)), expected_values);
      }
    }
    enter(n.name);
    is_plain_.push_back(n.formats.are_dense());
  }
  uses_.resize(numbers_.size());
  for (const std::vector<std::size_t>& from : arguments_)
    for (const std::size_t value : from) ++uses_[value];
  std::set<std::string_view> outputs;
  for (const std::string& name : parts_.outputs) {
    if (!numbers_.contains(name))
      fail_usage("unknown output {}{}{}", quote(name), suggestion(name, names_in(numbers_)),
                 expected_values);
    if (!outputs.insert(name).second) fail_usage("the graph has the output {} twice", quote(name));
    output_values_.push_back(number_of(name));
    ++uses_[output_values_.back()];
  }
  check_statistics();
  find_statistics();
  find_last_uses();
}

void Graph::find_last_uses() {
  const std::size_t count = parts_.nodes.size();
  std::vector<std::size_t> last(value_count());
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::size_t value : arguments_[i]) last[value] = i;
    last[first_node() + i] = i;
  }
  for (const std::size_t value : output_values_) last[value] = count;
  last_uses_.resize(count);
  for (std::size_t value = 0; value < last.size(); ++value)
    if (last[value] < count) last_uses_[last[value]].push_back(value);
}

void Graph::check_statistics() const {
  std::set<std::string_view> taken;
  for (const RunningStatistics& s : parts_.statistics) {
    const Node* moments = find_node(s.moments);
    if (!moments || moments->op.text() != "batch-moments")
      fail_usage("statistics of {}: expected a node of the operator batch-moments",
                 quote(s.moments));
    if (!(s.momentum >= 0 && s.momentum <= 1))
      fail_usage("statistics of {}: momentum must be in [0, 1], got {}", quote(s.moments),
                 s.momentum);
    for (const std::string& name : {s.mean, s.variance}) {
      const Weight* w = find_weight(name);
      if (!w || w->shape.size() != 1)
        fail_usage("statistics of {}: {} must be a weight with one axis", quote(s.moments),
                   quote(name));
      if (!taken.insert(w->name).second)
        fail_usage("statistics of {}: {} has other statistics already", quote(s.moments),
                   quote(name));
    }
  }
}

void Graph::find_statistics() {
  is_statistic_.resize(parts_.weights.size());
  const auto mark = [&](std::string_view name) {
    if (const Weight* w = find_weight(name); w && w->shape.size() == 1)
      is_statistic_[static_cast<std::size_t>(w - parts_.weights.data())] = true;
  };
  for (const RunningStatistics& s : parts_.statistics) {
    mark(s.mean);
    mark(s.variance);
  }
  for (const Node& n : parts_.nodes)
    if (n.op.text() == "batch-norm")
      for (std::size_t i = 3; i < n.inputs.size(); ++i) mark(n.inputs[i]);
}

std::size_t Graph::number_of(std::string_view name) const { return numbers_.find(name)->second; }

const Weight* Graph::find_weight(std::string_view name) const {
  const auto at = numbers_.find(name);
  if (at == numbers_.end() || at->second < parts_.inputs.size()) return nullptr;
  const std::size_t i = at->second - parts_.inputs.size();
  return i < parts_.weights.size() ? &parts_.weights[i] : nullptr;
}

const Shape* Graph::stored_shape(std::string_view name) const {
  const auto at = numbers_.find(name);
  if (at == numbers_.end() || !is_stored(at->second)) return nullptr;
  const std::size_t i = at->second - first_weight(), count = parts_.weights.size();
  return i < count ? &parts_.weights[i].shape : &parts_.constants[i - count].value.extents;
}

bool Graph::is_statistic(std::string_view weight) const {
  const Weight* w = find_weight(weight);
  return w && is_statistic_[static_cast<std::size_t>(w - parts_.weights.data())];
}

const Node* Graph::find_node(std::string_view name) const {
  const auto at = numbers_.find(name);
  return at == numbers_.end() || at->second < first_node()
             ? nullptr
             : &parts_.nodes[at->second - first_node()];
}

void Graph::check_weights(const NamedValues<Tensor>& weights) const {
  std::string problem;
  compare("weight", names_of(parts_.weights), weights, problem);
  check_given(problem);
}

void Graph::check_inputs(const NamedValues<Tensor>& inputs) const {
  std::string problem;
  compare("input", parts_.inputs, inputs, problem);
  check_given(problem);
}

template <Operand T>
bool Graph::take(const NamedValues<T>& given, std::size_t first, std::size_t last,
                 std::vector<std::optional<T>>& values) const {
  if (given.size() != last - first) return false;
  for (const auto& [name, value] : given) {
    const auto at = numbers_.find(name);
    if (at == numbers_.end() || at->second < first || at->second >= last) return false;
    values[at->second] = value;
  }
  return true;
}

template <Operand T>
std::vector<std::optional<T>> Graph::begin(const NamedValues<T>& weights,
                                           const NamedValues<T>& inputs) const {
  const std::size_t count = parts_.inputs.size(), end = count + parts_.weights.size();
  std::vector<std::optional<T>> values(numbers_.size());
  if (!take(inputs, 0, count, values) || !take(weights, count, end, values)) {
    std::string problem;
    compare("weight", names_of(parts_.weights), weights, problem);
    compare("input", parts_.inputs, inputs, problem);
    check_given(problem);
  }
  const Device device = place_of(weights, inputs);
  for (const Constant& c : parts_.constants) values[number_of(c.name)] = Tensor(c.value.to(device));
  return values;
}

template <Operand T>
T Graph::run_node(std::size_t node, std::span<const T> in) const {
  const Node& n = parts_.nodes[node];
  return with_node_name(n.name, [&] {
    return ops_detail::call(n.op, in, n.attributes, is_plain_[node] ? Formats::dense() : n.formats);
  });
}

template <Operand T>
NamedValues<T> Graph::run(const NamedValues<T>& weights, const NamedValues<T>& inputs) const {
  std::vector<std::optional<T>> values = begin(weights, inputs);
  std::vector<T> in;
  for (std::size_t i = 0; i < parts_.nodes.size(); ++i) {
    in.clear();
    for (const std::size_t from : arguments_[i]) in.push_back(*values[from]);
    values[first_node() + i] = run_node<T>(i, in);
    for (const std::size_t done : last_uses_[i]) values[done].reset();
  }
  NamedValues<T> out;
  for (std::size_t i = 0; i < output_values_.size(); ++i)
    out.emplace(parts_.outputs[i], *values[output_values_[i]]);
  return out;
}

template Tensor Graph::run_node(std::size_t, std::span<const Tensor>) const;
template NamedValues<Tensor> Graph::run(const NamedValues<Tensor>&,
                                        const NamedValues<Tensor>&) const;
template NamedValues<Var> Graph::run(const NamedValues<Var>&, const NamedValues<Var>&) const;

}  // namespace sten
