// Records the operators that a piece of code runs into a graph, as the paper does to find the
// intermediate values of a model (section 4.1). nn/module.h does it for a model that is a class.
//
//   Tracer t;
//   const Var x = t.input("x", batch), w = t.weight({"w", {3, 4}}, value);
//   const Graph g = t.graph({named("hidden", relu(linear(x, w)))});
//
// What runs is recorded, with the values that were given: a branch that was not taken is
// not there, a number that the code computes from a shape or a value is that number, and a tensor
// that is neither input nor weight is a constant of the graph.
#pragma once
#include <string_view>

#include "libsten/graph/graph.h"

namespace sten {

class Tracer {
 public:
  Tracer();
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // Of the graph, in the order of the calls.
  Var input(const std::string& name, Tensor value);
  Var weight(Weight what, Tensor value);

  // The graph of all that ran on inputs and weights so far. A node has the name that named() or the
  // end of a TraceScope gives it, else the scope's and the operator's, "encoder.relu"; a second one
  // of a name gets a number, "encoder.relu.1". Error (usage): an output of another
  // trace, or one name that two values were given; an operator with several results.
  Graph graph(const std::vector<Var>& outputs) const;

  // The one that is alive on this thread and was made last; nullptr: nothing is traced.
  static Tracer* current();
  // An input that code in a trace asks for by itself, such as the draw of dropouts (nn/dropout.h).
  Var shared_input(const std::string& name, const Tensor& value);

 private:
  friend class TraceScope;
  friend const Var& named(std::string_view, const Var&);
  struct Made {
    Node node;                      // its inputs are filled in by graph()
    std::vector<std::size_t> from;  // numbers in values_
    bool is_named = false;          // as the user says
    bool has_name = false;          // as that of a module's result, too
  };
  enum class Source { input, weight, constant, node };
  struct Value {
    Source source;
    std::size_t index;  // in parts_ or nodes_
    Var var;            // so that its identity stays its own
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
  std::map<const void*, std::size_t> numbers_;  // by identity
};

// While it lives, what runs on this thread is in the part of a model that has the name: "encoder",
// and within it "attention" is "encoder.attention".
class TraceScope {
 public:
  explicit TraceScope(std::string_view name);
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

  // The node that makes y has the scope's name, if it ran in it and no scope within it gave it one.
  void result(const Var& y) const;
  // Of the scopes that are alive, joined by dots.
  static const std::string& path();

 private:
  std::size_t length_;
  std::size_t first_;  // nodes of the trace before
};

// x, whose node has that name in the scope; without a trace just x.
const Var& named(std::string_view name, const Var& x);

}  // namespace sten
