// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/nn/module.h"

#include <algorithm>

#include "libsten/core/base/name_pattern.h"
#include "libsten/core/base/text.h"
#include "libsten/model/graph/sparsity_builder.h"
#include "libsten/model/nn/weights.h"

namespace sten {

const ModuleWeight& Module::weight(std::string name, Shape shape, Spec init) {
  return new_weight(std::move(name), std::move(shape), std::move(init), false);
}

ModuleWeight& Module::buffer(std::string name, Shape shape, Spec init) {
  return new_weight(std::move(name), std::move(shape), std::move(init), true);
}

ModuleWeight& Module::new_weight(std::string name, Shape shape, Spec init, bool is_buffer) {
  Tensor zeros = Dense::zeros(DType::F32, shape);
  Weight what{std::move(name), std::move(shape), std::move(init)};
  weights_.emplace_back(new ModuleWeight(std::move(what), std::move(zeros), is_buffer));
  return *weights_.back();
}

void Module::each(const std::string& prefix,
                  const std::function<void(std::string, ModuleWeight&)>& f) {
  for (const auto& w : weights_) f(prefix + w->what_.name, *w);
  for (const auto& [name, module] : children_) module->each(prefix + name + ".", f);
}

Graph Module::weights_graph() const {
  GraphParts parts;
  const_cast<Module*>(this)->each("", [&](std::string name, ModuleWeight& w) {
    parts.weights.push_back(w.what_);
    parts.weights.back().name = std::move(name);
  });
  return Graph(std::move(parts));
}

NamedValues<Tensor> Module::values() const {
  NamedValues<Tensor> all;
  const_cast<Module*>(this)->each("", [&](std::string name, ModuleWeight& w) {
    all.emplace(std::move(name), w.parameter_.value);
  });
  return all;
}

void Module::set_values(const NamedValues<Tensor>& values) {
  weights_graph().check_weights(values);
  std::string problem;
  each("", [&](const std::string& name, ModuleWeight& w) {
    const Shape shape = values.find(name)->second.shape();
    if (shape != w.what_.shape)
      problem += fmt::format("\n  weight {} is {}, expected {}", quote(name), to_string(shape),
                             to_string(w.what_.shape));
  });
  if (!problem.empty()) fail_usage("the values do not fit the module:{}", problem);
  each("", [&](const std::string& name, ModuleWeight& w) {
    w.parameter_.value = values.find(name)->second;
  });
}

std::vector<Parameter*> Module::parameters() {
  std::vector<Parameter*> all;
  each("", [&](std::string name, ModuleWeight& w) {
    if (w.is_buffer_) return;
    w.parameter_.name = std::move(name);
    all.push_back(&w.parameter_);
  });
  return all;
}

void Module::train(bool on) {
  is_training_ = on;
  for (const auto& [name, module] : children_) module->train(on);
}

void Module::sparsify(const std::string& pattern, const WeightFormat& format) {
  SparsityBuilder sb;
  sb.set_weight(pattern, format.initial, format.layout);
  sb.sparse_graph(weights_graph());  // throws if the format is invalid
  std::vector<NamePattern> patterns;
  for (const std::string& one : pattern_list(pattern)) patterns.emplace_back(one);
  each("", [&](const std::string& name, ModuleWeight& w) {
    if (w.is_buffer_ ||
        std::ranges::none_of(patterns, [&](const NamePattern& p) { return p.matches(name); }))
      return;
    w.parameter_.value = sten::sparsify(w.parameter_.value, format.initial, format.layout);
    w.parameter_.state.clear();  // it belongs to other positions
    w.what_.format = format;
  });
}

void Module::save(const std::string& path, bool overwrite) const {
  save_weights(weights_graph(), values(), path, overwrite);
}

void Module::load(const std::string& path) {
  const Checkpoint file = Checkpoint::open(path);
  const Graph g = load_sparsity(weights_graph(), file);
  set_values(load_weights(g, file));
  each("", [&](const std::string& name, ModuleWeight& w) {
    w.what_.format = g.find_weight(name)->format;
  });
}

void Module::put_leaves(const MakeLeaf& leaf) {
  each("", [&](std::string name, ModuleWeight& w) {
    w.leaf_.reset();
    if (!leaf) return;
    Weight what = w.what_;
    what.name = std::move(name);
    w.leaf_ = leaf(std::move(what), w.parameter_.value, w.is_buffer_);
  });
}

// Weights are leaves of a tape while the object lives.
class OnTape {
 public:
  OnTape(Module& m, const Module::MakeLeaf& leaf) : module_(m) { m.put_leaves(leaf); }
  ~OnTape() { module_.put_leaves(nullptr); }
  OnTape(const OnTape&) = delete;
  OnTape& operator=(const OnTape&) = delete;

 private:
  Module& module_;
};

Gradients gradients(Module& m, const std::function<Var()>& loss) {
  Tape tape;
  std::vector<std::pair<std::string, Var>> leaves;
  const OnTape on(m, [&](Weight what, const Tensor& value, bool is_buffer) {
    if (is_buffer) return Var(value);
    return leaves.emplace_back(what.name, tape_weight(tape, what, value)).second;
  });
  const Var y = loss();
  tape.backward(y);
  Gradients all{y.value(), {}};
  for (const auto& [name, leaf] : leaves)
    if (leaf.grad()) all.of.emplace(name, *leaf.grad());
  return all;
}

Graph trace_module(Module& m, const std::function<std::vector<Var>(Tracer&)>& f) {
  Tracer t;
  const OnTape on(
      m, [&](Weight what, const Tensor& value, bool) { return t.weight(std::move(what), value); });
  return t.graph(f(t));
}

}  // namespace sten
