// Graph builder of the ONNX import: operators of sten, with inferred properties of their values.
#pragma once
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "libsten/model/fusion/extent.h"
#include "libsten/model/graph/graph.h"

namespace sten {

class GraphBuilder;

// The index of a value of a builder.
using ValueRef = std::size_t;

struct BuilderValue {
  std::string name{};  // of an input, weight or constant of the file; empty: of a node
  std::optional<DType> dtype{};
  std::optional<ExtentList> shape{};
  std::optional<Dense> constant{};
  // For integers and booleans of rank 0 or 1, if partly known.
  std::optional<ExtentList> elements{};
  bool is_weight = false;
  bool is_fixed = false;              // independent of the inputs' elements
  bool in_by_out = false;             // a weight transposed to [out, in]
  std::optional<std::size_t> node{};  // the node that computes the value
};

// An operator call.
struct BuilderNode {
  std::string name;  // of the graph's node, if unique
  Name op;
  std::vector<ValueRef> in;
  Attributes attributes;
  ValueRef out = 0;
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
  // `file_bytes`: the size of the file, which bounds computed constants; default: unlimited.
  explicit GraphBuilder(std::size_t file_bytes = std::numeric_limits<std::size_t>::max())
      : file_bytes_(file_bytes), budget_(file_bytes) {}
  std::size_t file_bytes() const { return file_bytes_; }

  Extents extents;

  ValueRef add_input(std::string name, std::optional<DType> dtype, std::optional<ExtentList> shape);
  ValueRef add_weight(std::string name, const Shape& shape);
  ValueRef add_constant(Dense value, std::string name = "");
  ValueRef add_integers(const std::vector<Index>& list);  // I64, one axis
  ValueRef add_scalar(float x);                           // F32, rank 0
  ValueRef add_leaf(BuilderValue v);  // a value of another builder, without a node
  // Adds a node, or a constant if all inputs are constant and the result is small. Error if
  // computed constants exceed their budget.
  ValueRef add(Name op, std::vector<ValueRef> in, Attributes attributes, std::string name);

  const BuilderValue& operator[](ValueRef v) const { return values_[v]; }
  BuilderValue& operator[](ValueRef v) { return values_[v]; }
  const std::vector<BuilderNode>& steps() const { return nodes_; }
  // The node that computes v; nullptr if there is none, or its operator is not `op`.
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
  std::size_t size() const { return values_.size(); }

 private:
  ValueRef add_value(BuilderValue v);

  std::deque<BuilderValue> values_;  // references stay valid
  std::vector<BuilderNode> nodes_;
  std::vector<Output> outputs_;
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

// Applies all fusions of fuse.h. Returns counts by name.
std::map<std::string, Index> fuse(GraphBuilder& builder, bool for_inference);

// Lowers the nodes that outputs need to a graph. Keeps all inputs.
Graph lower(const GraphBuilder& builder);

}  // namespace sten
