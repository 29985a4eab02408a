// SPDX-License-Identifier: Apache-2.0
// Graph: a model as named nodes and weights, which recipes and globs can refer to. Runs on tensors,
// and on the variables of a tape.
//
//   const Graph g({{"x"}, {{"w", {3, 4}}}, {{"y", "linear", {"x", "w"}}}, {"y"}});
//   const Tensor y = g.run<Tensor>({{"w", w}}, {{"x", x}}).at("y");
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libsten/compute/autograd/tape.h"
#include "libsten/compute/ops/common/operators.h"

namespace sten {

// The layout of a weight, and the format of its gradient.
struct WeightFormat {
  Sparsifier initial = KeepAll{};  // applied to dense values
  Spec layout{"dense"};
  // Default: the weight's own positions and layout; dense for a dense weight.
  std::optional<OutFormat> grad{};

  // Whether the weight itself stays dense.
  bool is_dense() const;
};

// A run of elements of a tensor that stacks several weights, such as those of all experts.
struct StackedWeight {
  std::string tensor;
  Shape shape;  // of the tensor
  Index first = 0;
};

// Description of a weight without its values.
struct Weight {
  std::string name;
  Shape shape;
  // Initial values: zeros, ones, normal:std=S, uniform:bound=B (in [-B, B)).
  Spec init{"zeros"};
  // Other names in checkpoints: those of layers that share the weight.
  std::vector<std::string> aliases{};
  WeightFormat format{};
  // A matrix [out, in] that is [in, out] in its ONNX file.
  bool in_by_out = false;
  // Its elements in checkpoints that do not have it as a tensor.
  std::vector<StackedWeight> stacked_in{};
};

// A value of the model that is not pruned or trained.
struct Constant {
  std::string name;
  Dense value;
};

// An operator call. Its value has the node's name.
struct Node {
  std::string name;
  Name op;
  // Names of inputs, weights, constants, and earlier nodes.
  std::vector<std::string> inputs;
  Attributes attributes{};
  Formats formats{};
};

// Running statistics: two weights that follow a batch-moments node. Each training step sets them to
// (1 - momentum) times themselves plus momentum times the node's value.
struct RunningStatistics {
  std::string moments;         // the node
  std::string mean, variance;  // the weights
  double momentum = 0.1;
};

struct GraphParts {
  std::vector<std::string> inputs;
  std::vector<Weight> weights;
  std::vector<Node> nodes;  // in execution order
  std::vector<std::string> outputs;
  std::vector<Constant> constants{};
  std::vector<RunningStatistics> statistics{};
};

template <class T>
using NamedValues = std::map<std::string, T, std::less<>>;

class Graph {
 public:
  // Error (usage) for an empty or duplicate name; an unknown operator; an unknown input of a node
  // or unknown output; an input that is a later node; an invalid shape or initial value of a
  // weight; and statistics whose weights or node are unknown, or shared.
  explicit Graph(GraphParts parts);

  const std::vector<std::string>& inputs() const { return parts_.inputs; }
  const std::vector<Weight>& weights() const { return parts_.weights; }
  const std::vector<Node>& nodes() const { return parts_.nodes; }
  const std::vector<Constant>& constants() const { return parts_.constants; }
  const std::vector<std::string>& outputs() const { return parts_.outputs; }
  const std::vector<RunningStatistics>& statistics() const { return parts_.statistics; }
  // For a modified copy.
  const GraphParts& parts() const { return parts_; }
  // nullptr if there is none.
  const Weight* find_weight(std::string_view name) const;
  const Node* find_node(std::string_view name) const;
  // Whether an input, weight, constant or node has the name.
  bool has(std::string_view name) const { return numbers_.contains(name); }
  // The shape of a weight or constant; nullptr for other values.
  const Shape* stored_shape(std::string_view name) const;
  // Whether a weight is a running statistic, which is not trained.
  bool is_statistic(std::string_view weight) const;

  // Values have numbers, which all plans of the graph use: inputs first, then weights, constants
  // and nodes.
  std::size_t number_of(std::string_view name) const;  // of a value that there is
  std::size_t value_count() const { return uses_.size(); }
  std::size_t first_weight() const { return parts_.inputs.size(); }
  std::size_t first_node() const { return uses_.size() - parts_.nodes.size(); }
  // Whether the value is a weight or a constant.
  bool is_stored(std::size_t value) const {
    return value >= first_weight() && value < first_node();
  }
  // The numbers of a node's inputs.
  const std::vector<std::size_t>& arguments(std::size_t node) const { return arguments_[node]; }
  // The number of inputs of nodes and outputs that are the value.
  std::size_t uses(std::size_t value) const { return uses_[value]; }
  // The numbers of the outputs.
  const std::vector<std::size_t>& output_values() const { return output_values_; }
  // The numbers of the values, without outputs, that the node uses last, or computes without a use.
  // Unused inputs, weights and constants belong to the first node.
  const std::vector<std::size_t>& last_uses(std::size_t node) const { return last_uses_[node]; }

  // Returns the outputs by name. Error (usage) with all missing and all unknown weights and inputs.
  // Values are released after their last use. Errors start with the name of the node.
  template <Operand T>
  NamedValues<T> run(const NamedValues<T>& weights, const NamedValues<T>& inputs) const;
  // Computes a node from its inputs. Errors as above.
  template <Operand T>
  T run_node(std::size_t node, std::span<const T> in) const;
  // The check of weights in run(), for callers that run the nodes themselves: Error (usage) as
  // there.
  void check_weights(const NamedValues<Tensor>& weights) const;
  void check_inputs(const NamedValues<Tensor>& inputs) const;

 private:
  // Moves values with the names first...last to their slots; false if the names differ.
  template <Operand T>
  bool take(const NamedValues<T>& given, std::size_t first, std::size_t last,
            std::vector<std::optional<T>>& values) const;
  void check_statistics() const;
  void find_statistics();
  void find_last_uses();
  template <Operand T>
  std::vector<std::optional<T>> begin(const NamedValues<T>& weights,
                                      const NamedValues<T>& inputs) const;

  GraphParts parts_;
  std::map<std::string, std::size_t, std::less<>> numbers_;
  std::vector<std::vector<std::size_t>> arguments_, last_uses_;  // per node
  std::vector<std::size_t> uses_, output_values_;
  std::vector<bool> is_plain_;      // per node: value and gradient are dense
  std::vector<bool> is_statistic_;  // per weight
};

extern template Tensor Graph::run_node(std::size_t, std::span<const Tensor>) const;
extern template NamedValues<Tensor> Graph::run(const NamedValues<Tensor>&,
                                               const NamedValues<Tensor>&) const;
extern template NamedValues<Var> Graph::run(const NamedValues<Var>&, const NamedValues<Var>&) const;

// Dense initial weights in float32. Each depends only on the seed and its name.
NamedValues<Tensor> initial_weights(const Graph& g, std::uint64_t seed);

// Prunes weights by the initial sparsifiers of their formats and converts them to their layouts.
// Weights without a format are unchanged. `scores`: by weight name, for sparsifiers that rank by
// scores (Hints::scores). Errors start with the weight's name.
NamedValues<Tensor> sparse_weights(const Graph& g, NamedValues<Tensor> weights,
                                   const NamedValues<Dense>& scores = {});

// Leaves of the tape for Graph::run, with the gradient formats of the weights.
NamedValues<Var> tape_weights(Tape& tape, const Graph& g, const NamedValues<Tensor>& weights);
Var tape_weight(Tape& tape, const Weight& w, Tensor value);

}  // namespace sten
