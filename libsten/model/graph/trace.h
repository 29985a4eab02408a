// SPDX-License-Identifier: Apache-2.0
// Trace: the graph of the operators that a piece of code runs, by which the paper finds the
// intermediates of a model (section 4.1). model/nn/module.h traces modules.
//
//   Tracer t;
//   const Var x = t.input("x", batch), w = t.weight({"w", {3, 4}}, value);
//   const Graph g = t.graph({named("hidden", relu(linear(x, w)))});
//
// Only the operators that run on the given values are recorded: branches not taken are missing,
// numbers computed from shapes or values are fixed, and tensors other than inputs and weights are
// constants of the graph.
#pragma once
#include <string_view>

#include "libsten/model/graph/graph.h"

namespace sten {

class Tracer {
 public:
  Tracer();
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // Inputs and weights of the graph, in the order of calls.
  Var input(const std::string& name, Tensor value);
  Var weight(Weight what, Tensor value);

  // Returns the graph of all operators on inputs and weights so far. A node is named by named() or
  // the end of a TraceScope, otherwise by scope and operator, "encoder.relu", with a number for
  // duplicates, "encoder.relu.1". Error (usage) for an output of another trace, a name given to two
  // values, and an operator with several results.
  Graph graph(const std::vector<Var>& outputs) const;

  // Makes two weights running statistics of a value of batch_moments().
  void statistics(const Var& moments, const Var& mean, const Var& variance, double momentum);

  // The tracer on this thread that was created last; nullptr if none.
  static Tracer* current();
  // An input that traced code requests, such as the dropout seed (model/graph/dropout.h).
  Var shared_input(const std::string& name, const Tensor& value);

 private:
  friend class TraceScope;
  friend const Var& named(std::string_view, const Var&);
  struct Made {
    Node node;                      // inputs are set by graph()
    std::vector<std::size_t> from;  // indices in values_
    bool is_named = false;          // by the user
    bool has_name = false;          // also as a module's result
  };
  enum class Source { input, weight, constant, node };
  struct Value {
    Source source;
    std::size_t index;  // in parts_ or nodes_
    Var var;            // keeps its identity unique
  };

  void see(const Tape::Applied& a);
  std::size_t number_of(const Var& v);
  Made* node_of(const Var& v, std::size_t first);

  Tracer* before_;
  std::string scope_before_;
  Tape tape_;
  GraphParts parts_;
  std::vector<Made> nodes_;
  std::vector<Value> values_;
  struct Statistics {
    std::size_t moments, mean, variance;  // indices in values_
    double momentum;
  };
  std::vector<Statistics> statistics_;
  std::map<const void*, std::size_t> numbers_;  // by identity
};

// During its lifetime, operators on this thread belong to a part of the model with this name. Names
// nest: "attention" in "encoder" is "encoder.attention".
class TraceScope {
 public:
  explicit TraceScope(std::string_view name);
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

  // Names the node of y like the scope, if it ran in the scope and was not named by a nested one.
  void result(const Var& y) const;
  // The names of the current scopes, joined by dots.
  static const std::string& path();

 private:
  std::size_t length_;
  std::size_t first_;  // number of nodes before the scope
};

// Returns x, and names its node in the scope if there is a trace.
const Var& named(std::string_view name, const Var& x);

}  // namespace sten
