// SPDX-License-Identifier: Apache-2.0
// Module: a model as a class with named weights and submodules; the user writes its forward().
//
//   struct Net : Module {
//     Child<Linear> hidden = child<Linear>("hidden", 64, 32), out = child<Linear>("out", 32, 10);
//     Var forward(const Var& x) const { return out(relu(hidden(x))); }
//   };
//   Net net;
//   net.initialize(1);
//   const Tensor y = net.forward(x).value();
//   const Graph g = trace(net, {{"x", x}});  // for SparsityBuilder, recipes and sten-run
//
// A weight's name is the path of its modules below the outermost one, joined by dots:
// "hidden.weight". Tracer documents the names of a trace (model/graph/trace.h).
#pragma once
#include <array>
#include <concepts>
#include <functional>
#include <memory>

#include "libsten/compute/autograd/parameter.h"
#include "libsten/model/graph/trace.h"

namespace sten {

class Module;

// A weight of a module, usable as a value: of a tape while gradients() or trace() run. A buffer is a
// weight without a gradient.
class ModuleWeight {
 public:
  // Sets the value, which has the same shape. Values of a tape or trace stay.
  void set(Tensor value) { parameter_.value = std::move(value); }
  Var var() const { return leaf_ ? *leaf_ : Var(parameter_.value); }
  operator Var() const { return var(); }

 private:
  friend class Module;
  ModuleWeight(Weight what, Tensor value, bool is_buffer)
      : what_(std::move(what)), parameter_(std::move(value)), is_buffer_(is_buffer) {}

  Weight what_;  // with the name within the module
  Parameter parameter_;
  std::optional<Var> leaf_;
  bool is_buffer_;
};

// A submodule. A call runs its forward() in a TraceScope of its name.
template <class M>
class Child {
 public:
  template <class... In>
  auto operator()(In&&... in) const {
    const TraceScope scope(name_);
    auto y = module_->forward(std::forward<In>(in)...);
    if constexpr (std::same_as<decltype(y), Var>) scope.result(y);
    return y;
  }
  M* operator->() const { return module_; }
  M& operator*() const { return *module_; }

 private:
  friend class Module;
  Child(std::string name, M* module) : name_(std::move(name)), module_(module) {}

  std::string name_;
  M* module_;
};

class Module {
 public:
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module() = default;

  // All weights and buffers, including those of submodules, as a graph without nodes.
  Graph weights_graph() const;
  NamedValues<Tensor> values() const;
  // Sets every weight and buffer. Error (usage), which changes nothing and lists weights that are missing,
  // unknown or of another shape.
  void set_values(const NamedValues<Tensor>& values);
  // Sets initial_weights(); until then, weights are 0.
  void initialize(std::uint64_t seed) { set_values(initial_weights(weights_graph(), seed)); }
  // The weights for optimizer steps, without buffers; valid as long as the module.
  std::vector<Parameter*> parameters();

  // Switches dropout and the moments of batches on or off, including submodules; initially on.
  void train(bool on = true);
  void eval() { train(false); }
  bool is_training() const { return is_training_; }

  // Prunes and packs the weights, not buffers, that the pattern matches (SparsityBuilder::set_weight), and sets
  // the format of their gradients. Error (usage) if it matches none.
  void sparsify(const std::string& pattern, const WeightFormat& format);

  // Like save_weights() and load_weights() (model/nn/weights.h): a safetensors file with the weights in
  // their layouts, and their formats.
  void save(const std::string& path, bool overwrite = false) const;
  void load(const std::string& path);

 protected:
  // For members of the derived class. Names must be unique, without dots, or parts of a path.
  const ModuleWeight& weight(std::string name, Shape shape, Spec init = Spec("zeros"));
  ModuleWeight& buffer(std::string name, Shape shape, Spec init = Spec("zeros"));
  template <std::derived_from<Module> M, class... Args>
  Child<M> child(std::string name, Args&&... args) {
    auto made = std::make_unique<M>(std::forward<Args>(args)...);
    M* module = made.get();
    children_.emplace_back(name, std::move(made));
    return {std::move(name), module};
  }

 private:
  friend class OnTape;
  friend Graph trace_module(Module&, const std::function<std::vector<Var>(Tracer&)>&);
  void each(const std::string& prefix,
            const std::function<void(std::string name, ModuleWeight&)>& f);
  // Makes the value that operators use for a weight or buffer; nullptr: its value.
  using MakeLeaf = std::function<Var(Weight, const Tensor&, bool is_buffer)>;
  void put_leaves(const MakeLeaf& leaf);
  ModuleWeight& new_weight(std::string name, Shape shape, Spec init, bool is_buffer);

  std::vector<std::unique_ptr<ModuleWeight>> weights_;
  std::vector<std::pair<std::string, std::unique_ptr<Module>>> children_;
  bool is_training_ = true;
};

struct Gradients {
  Tensor loss;
  NamedValues<Tensor> of;  // by name; only weights that the loss depends on
};
// The gradients of loss(), a scalar that depends on the module's weights. The tape is destroyed on
// return, so that optimizer steps run in place.
Gradients gradients(Module& m, const std::function<Var()>& loss);

// An input of a trace: its name and value.
struct TraceInput {
  std::string name;
  Tensor value;
};

// The graph of the values that f returns, where f passes the trace's inputs to the module.
Graph trace_module(Module& m, const std::function<std::vector<Var>(Tracer&)>& f);

// The graph of m.forward(inputs...), which returns a Var or a vector of Var. It has all weights of
// the module with their formats, including unused ones.
template <std::derived_from<Module> M, std::size_t n>
Graph trace(M& m, const TraceInput (&inputs)[n]) {
  return trace_module(m, [&](Tracer& t) -> std::vector<Var> {
    std::vector<Var> in;
    for (const TraceInput& i : inputs) in.push_back(t.input(i.name, i.value));
    const auto run = [&]<std::size_t... i>(std::index_sequence<i...>) {
      return m.forward(in[i]...);
    };
    return {run(std::make_index_sequence<n>())};
  });
}

}  // namespace sten
