// SPDX-License-Identifier: Apache-2.0
// Graph builder: operators of sten, with inferred properties of their values.
#pragma once
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "libsten/model/fusion/extent.h"
#include "libsten/model/fusion/graph_port.h"
#include "libsten/model/graph/graph.h"

namespace sten {

class GraphBuilder;

// The index of a value of a builder.
using ValueRef = std::size_t;

struct BuilderValue {
  std::string name{};  // of an input, weight or constant; empty: of a node
  std::optional<DType> dtype{};
  std::optional<ExtentList> shape{};
  std::optional<Dense> constant{};
  // For integers and booleans of rank 0 or 1, if partly known.
  std::optional<ExtentList> elements{};
  std::optional<Weight> weight{};     // its name and shape are those of the value
  bool is_fixed = false;              // independent of the inputs' elements
  std::optional<std::size_t> node{};  // the node that computes the value
};

// An operator call.
struct BuilderNode {
  std::string name;  // of the graph's node, if unique
  Name op;
  std::vector<ValueRef> in;
  Attributes attributes;
  ValueRef out = 0;
  Formats formats{};

  // A node with formats is neither folded nor fused.
  bool has_formats() const { return !formats.are_dense(); }
  // Whether fusions may replace or change the node as one of this operator.
  bool is(std::string_view name) const { return op.text() == name && !has_formats(); }
};

// Budget of a file's computed constants, at import and when the model runs.
class ConstantBudget {
 public:
  explicit ConstantBudget(std::size_t file_bytes);
  // Error if a node with a result of that shape exceeds the rest of the budget.
  void spend(const GraphBuilder& builder, const BuilderNode& node, const BuilderValue& result);

 private:
  double most_bytes_, most_operations_;
  double bytes_ = 0, operations_ = 0;
};

class GraphBuilder {
 public:
  // `file_bytes`: the size of the model, which bounds computed constants; default: unlimited.
  explicit GraphBuilder(std::size_t file_bytes = std::numeric_limits<std::size_t>::max())
      : file_bytes_(file_bytes), budget_(file_bytes) {}
  std::size_t file_bytes() const { return file_bytes_; }

  Extents extents;

  ValueRef add_input(std::string name, std::optional<DType> dtype, std::optional<ExtentList> shape);
  ValueRef add_input(const GraphPort& port);
  ValueRef add_weight(Weight weight);
  ValueRef add_constant(Dense value, std::string name = "");
  ValueRef add_integers(const std::vector<Index>& list);  // I64, one axis
  ValueRef add_scalar(float x);                           // F32, rank 0
  // A value without a node: of another builder, or a placeholder without a name, which no needed
  // node may use when the builder is lowered.
  ValueRef add_leaf(BuilderValue v);
  // Adds a node, or a constant if all inputs are constant and the result is small. Error if
  // computed constants exceed their budget.
  ValueRef add(Name op, std::vector<ValueRef> in, Attributes attributes, std::string name,
               Formats formats = {});

  const BuilderValue& operator[](ValueRef v) const { return values_[v]; }
  BuilderValue& operator[](ValueRef v) { return values_[v]; }
  bool is_input(ValueRef v) const {
    return !values_[v].node && !values_[v].constant && !values_[v].weight;
  }
  const std::vector<BuilderNode>& steps() const { return nodes_; }
  // The node that computes v; nullptr if there is none, or it is no `op` for fusions.
  const BuilderNode* node_of(ValueRef v) const;
  const BuilderNode* node_of(ValueRef v, std::string_view op) const;
  // The node, to be changed; its output stays.
  BuilderNode& change(ValueRef v) { return nodes_[*values_[v].node]; }

  // Makes v the output `name`, computed by a separate node or a constant.
  void add_output(const std::string& name, ValueRef v);
  struct Output {
    std::string name;
    ValueRef value;
  };
  const std::vector<Output>& outputs() const { return outputs_; }
  // Lowers v under its own name although no output needs it.
  void keep(ValueRef v) { kept_.push_back(v); }
  const std::vector<ValueRef>& kept() const { return kept_; }
  std::size_t size() const { return values_.size(); }
  // How often each value is an output, kept, or an input of a node that is needed for these.
  std::vector<Index> uses() const;

 private:
  ValueRef add_value(BuilderValue v);

  std::deque<BuilderValue> values_;  // references stay valid
  std::vector<BuilderNode> nodes_;
  std::vector<Output> outputs_;
  std::vector<ValueRef> kept_;
  std::unordered_set<ValueRef> taken_by_outputs_;
  std::size_t file_bytes_;
  ConstantBudget budget_;
};

// Infers dtype, shape and elements of a node's value from its inputs. See infer.h.
BuilderValue infer(GraphBuilder& builder, const BuilderNode& node);
// Infers the integers that a node computes, as far as known; none for other values.
std::optional<ExtentList> infer_elements(GraphBuilder& builder, const BuilderNode& node,
                                         const BuilderValue& result);

// Limit of values with inferred integers.
constexpr Index most_known_elements = 4096;

// Whether an operator is elementwise over its broadcast inputs.
bool is_elementwise(std::string_view op);
// Whether an operator takes images in channels last.
bool is_image_operator(std::string_view op);

// The permutation from [N, C, spatial...] to [N, spatial..., C], and its inverse.
Attributes::List axes_to_last(std::size_t rank);
Attributes::List axes_to_first(std::size_t rank);

// The broadcast shape of two. Error if they cannot be broadcast.
ExtentList broadcast(GraphBuilder& builder, const ExtentList& a, const ExtentList& b);

struct FusionOptions {
  bool has_gradients = true;  // false: also operators without a gradient
  // Whether a weight [in, out] of products becomes [out, in], and images are kept in channels last.
  bool changes_layouts = true;
};
// Applies all fusions of fuse.h. Returns counts by name.
std::map<std::string, Index> fuse(GraphBuilder& builder, const FusionOptions& options = {});

// Lowers all inputs with a name, and the values with a use, to a graph.
Graph lower(const GraphBuilder& builder);

}  // namespace sten
