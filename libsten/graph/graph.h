// A model as data: nodes that compute and weights, each with a name that a recipe or a glob can
// point at. It runs on tensors, and on the values of a tape.
//
//   const Graph g({{"x"}, {{"w", {3, 4}}}, {{"y", "linear", {"x", "w"}}}, {"y"}});
//   const Tensor y = g.run<Tensor>({{"w", w}}, {{"x", x}}).at("y");
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libsten/autograd/tape.h"
#include "libsten/ops/operators.h"

namespace sten {

// How a weight is stored, and its gradient.
struct WeightFormat {
  Sparsifier initial = KeepAll{};  // what stays of dense values
  Spec layout{"dense"};
  // Of its gradient: without one the weight's own positions in its layout, dense for a dense one.
  std::optional<OutFormat> grad{};

  // Whether it says nothing of the weight itself.
  bool is_dense() const;
};

// A weight by what it is, not by its values.
struct Weight {
  std::string name;
  Shape shape;
  // Its initial value: zeros, ones, normal:std=S, uniform:bound=B (in [-B, B)).
  Spec init{"zeros"};
  // Other names that checkpoints may have for it: those of layers that share it.
  std::vector<std::string> aliases{};
  WeightFormat format{};
  // A matrix [out, in] that its ONNX file has as [in, out].
  bool in_by_out = false;
};

// A value that is part of the model, and that nobody prunes or trains.
struct Constant {
  std::string name;
  Dense value;
};

// An operator at work. Its value has the node's name.
struct Node {
  std::string name;
  Name op;
  // Names of inputs, of weights, of constants, and of nodes before it.
  std::vector<std::string> inputs;
  Attributes attributes{};
  Formats formats{};
};

// Two weights that are not trained, but follow a batch-moments node as training goes on: each step
// they become (1 - momentum) times themselves and momentum times what the node has.
struct RunningStatistics {
  std::string moments;         // the node
  std::string mean, variance;  // the weights
  double momentum = 0.1;
};

struct GraphParts {
  std::vector<std::string> inputs;
  std::vector<Weight> weights;
  std::vector<Node> nodes;  // in the order in which they run
  std::vector<std::string> outputs;
  std::vector<Constant> constants{};
  std::vector<RunningStatistics> statistics{};
};

template <class T>
using NamedValues = std::map<std::string, T, std::less<>>;

class Graph {
 public:
  // Error (usage): a name that is empty or used twice; an unknown operator; an input of a node, or
  // an output, that names nothing; an input that is a later node; a weight whose shape or initial
  // value is invalid; statistics that are none of its weights, of none of its nodes, or not alone.
  explicit Graph(GraphParts parts);

  const std::vector<std::string>& inputs() const { return parts_.inputs; }
  const std::vector<Weight>& weights() const { return parts_.weights; }
  const std::vector<Node>& nodes() const { return parts_.nodes; }
  const std::vector<Constant>& constants() const { return parts_.constants; }
  const std::vector<std::string>& outputs() const { return parts_.outputs; }
  const std::vector<RunningStatistics>& statistics() const { return parts_.statistics; }
  // For a changed copy.
  const GraphParts& parts() const { return parts_; }
  // nullptr without one.
  const Weight* find_weight(std::string_view name) const;
  const Node* find_node(std::string_view name) const;
  // Whether a weight is a running statistic, which is not trained.
  bool is_statistic(std::string_view weight) const;

  // The outputs, each by its name. Weights and inputs are given by theirs: Error (usage) that lists
  // those that are missing and those that are not the graph's. A value is released as soon as no
  // node needs it. The message of what an operator throws begins with the node's name.
  template <Operand T>
  NamedValues<T> run(const NamedValues<T>& weights, const NamedValues<T>& inputs) const;
  // What run() checks first, for whoever runs the nodes: Error (usage) as there.
  void check_weights(const NamedValues<Tensor>& weights) const;
  void check_inputs(const NamedValues<Tensor>& inputs) const;

 private:
  // A value by number: inputs first, then weights, constants and nodes.
  std::size_t number_of(std::string_view name) const;
  // Puts those of the names first...last where they belong; false where they are others.
  template <Operand T>
  bool take(const NamedValues<T>& given, std::size_t first, std::size_t last,
            std::vector<std::optional<T>>& values) const;
  void check_statistics() const;
  void find_statistics();
  template <Operand T>
  std::vector<std::optional<T>> begin(const NamedValues<T>& weights,
                                      const NamedValues<T>& inputs) const;

  GraphParts parts_;
  std::map<std::string, std::size_t, std::less<>> numbers_;
  std::vector<std::vector<std::size_t>> arguments_, last_uses_;  // of each node
  std::vector<bool> is_plain_;      // of each node: its value and its gradient are dense
  std::vector<bool> is_statistic_;  // of each weight
};

extern template NamedValues<Tensor> Graph::run(const NamedValues<Tensor>&,
                                               const NamedValues<Tensor>&) const;
extern template NamedValues<Var> Graph::run(const NamedValues<Var>&, const NamedValues<Var>&) const;

// The initial values of weights, by name, dense and in float32. Each depends only on the seed and
// its own name.
NamedValues<Tensor> initial_weights(const Graph& g, std::uint64_t seed);

// The weights, pruned by the initial sparsifiers of their formats and in their layouts; those
// without a format stay unchanged. `scores`, by the weights' names, are for sparsifiers that rank
// by scores (Hints::scores). The message of what a sparsifier or layout throws begins with the
// weight's name.
NamedValues<Tensor> sparse_weights(const Graph& g, NamedValues<Tensor> weights,
                                   const NamedValues<Dense>& scores = {});

// Leaves of the tape whose gradients have the weights' formats, for Graph::run.
NamedValues<Var> tape_weights(Tape& tape, const Graph& g, const NamedValues<Tensor>& weights);
Var tape_weight(Tape& tape, const Weight& w, Tensor value);

}  // namespace sten
