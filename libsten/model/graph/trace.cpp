// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/graph/trace.h"

#include <set>

#include "libsten/core/base/text.h"

namespace sten {
namespace {

thread_local Tracer* current_tracer = nullptr;
thread_local std::string scope_path;

std::string in_scope(std::string_view name) {
  return scope_path.empty() ? std::string(name) : scope_path + "." + std::string(name);
}

// The name, with a number appended if it is used.
std::string free_name(const std::string& name, const std::set<std::string>& taken) {
  if (!taken.contains(name)) return name;
  for (int i = 1;; ++i)
    if (std::string other = fmt::format("{}.{}", name, i); !taken.contains(other)) return other;
}

bool is_same(const Dense& a, const Tensor& b) {
  return b.is<Dense>() && a.dtype() == b.dtype() && a.extents == b.shape() &&
         a.values.bytes().data() == b.values()->bytes().data();
}

}  // namespace

Tracer::Tracer() : before_(current_tracer), scope_before_(std::exchange(scope_path, {})) {
  current_tracer = this;
  tape_.watch([this](const Tape::Applied& a) { see(a); });
}

Tracer::~Tracer() {
  current_tracer = before_;
  scope_path = std::move(scope_before_);
}

Tracer* Tracer::current() { return current_tracer; }

Var Tracer::input(const std::string& name, Tensor value) {
  Var v = tape_.parameter(std::move(value));
  numbers_.emplace(v.identity(), values_.size());
  values_.push_back({Source::input, parts_.inputs.size(), v});
  parts_.inputs.push_back(name);
  return v;
}

Var Tracer::weight(Weight what, Tensor value) {
  Var v = tape_weight(tape_, what, std::move(value));
  numbers_.emplace(v.identity(), values_.size());
  values_.push_back({Source::weight, parts_.weights.size(), v});
  parts_.weights.push_back(std::move(what));
  return v;
}

Var Tracer::shared_input(const std::string& name, const Tensor& value) {
  for (const Value& v : values_)
    if (v.source == Source::input && parts_.inputs[v.index] == name) return v.var;
  return input(name, value);
}

void Tracer::statistics(const Var& moments, const Var& mean, const Var& variance, double momentum) {
  statistics_.push_back({number_of(moments), number_of(mean), number_of(variance), momentum});
}

std::size_t Tracer::number_of(const Var& v) {
  if (v.identity()) return numbers_.at(v.identity());
  for (std::size_t i = 0; i < values_.size(); ++i)
    if (values_[i].source == Source::constant &&
        is_same(parts_.constants[values_[i].index].value, v.value()))
      return i;
  values_.push_back({Source::constant, parts_.constants.size(), v});
  parts_.constants.push_back({in_scope("constant"), v.value().to_dense()});
  return values_.size() - 1;
}

void Tracer::see(const Tape::Applied& a) {
  if (a.out.size() != 1)
    fail_usage("trace: {}: expected one result, got {}", a.op.text(), a.out.size());
  Made made{{in_scope(a.op.text()), a.op, {}, a.attributes, a.formats.front()}, {}};
  for (const Var& v : a.in) made.from.push_back(number_of(v));
  numbers_.insert_or_assign(a.out.front().identity(), values_.size());
  values_.push_back({Source::node, nodes_.size(), a.out.front()});
  nodes_.push_back(std::move(made));
}

Tracer::Made* Tracer::node_of(const Var& v, std::size_t first) {
  const auto at = v.identity() ? numbers_.find(v.identity()) : numbers_.end();
  if (at == numbers_.end()) return nullptr;
  const Value& value = values_[at->second];
  return value.source == Source::node && value.index >= first ? &nodes_[value.index] : nullptr;
}

Graph Tracer::graph(const std::vector<Var>& outputs) const {
  GraphParts parts = parts_;
  std::set<std::string> taken(parts.inputs.begin(), parts.inputs.end());
  for (const Weight& w : parts.weights) taken.insert(w.name);
  for (const Made& n : nodes_)
    if (n.is_named && !taken.insert(n.node.name).second)
      fail_usage("trace: two values have the name {}", quote(n.node.name));
  const auto take = [&](std::string& name) {
    name = free_name(name, taken);
    taken.insert(name);
  };
  for (const Made& n : nodes_) {
    parts.nodes.push_back(n.node);
    if (!n.is_named) take(parts.nodes.back().name);
  }
  for (Constant& c : parts.constants) take(c.name);
  const auto name_of = [&](const Value& v) -> const std::string& {
    switch (v.source) {
      case Source::input:
        return parts.inputs[v.index];
      case Source::weight:
        return parts.weights[v.index].name;
      case Source::constant:
        return parts.constants[v.index].name;
      case Source::node:
        break;
    }
    return parts.nodes[v.index].name;
  };
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    for (const std::size_t from : nodes_[i].from)
      parts.nodes[i].inputs.push_back(name_of(values_[from]));
  for (const Statistics& s : statistics_)
    parts.statistics.push_back({name_of(values_[s.moments]), name_of(values_[s.mean]),
                                name_of(values_[s.variance]), s.momentum});
  for (const Var& v : outputs) {
    const auto at = v.identity() ? numbers_.find(v.identity()) : numbers_.end();
    if (at == numbers_.end())
      fail_usage("trace: output {} depends on no input and no weight", parts.outputs.size());
    parts.outputs.push_back(name_of(values_[at->second]));
  }
  return Graph(std::move(parts));
}

TraceScope::TraceScope(std::string_view name)
    : length_(scope_path.size()), first_(current_tracer ? current_tracer->nodes_.size() : 0) {
  scope_path = in_scope(name);
}

TraceScope::~TraceScope() { scope_path.resize(length_); }

void TraceScope::result(const Var& y) const {
  if (!current_tracer) return;
  Tracer::Made* made = current_tracer->node_of(y, first_);
  if (!made || made->has_name) return;
  made->node.name = scope_path;
  made->has_name = true;
}

const std::string& TraceScope::path() { return scope_path; }

const Var& named(std::string_view name, const Var& x) {
  if (!current_tracer) return x;
  if (Tracer::Made* made = current_tracer->node_of(x, 0)) {
    made->node.name = in_scope(name);
    made->is_named = made->has_name = true;
  }
  return x;
}

}  // namespace sten
