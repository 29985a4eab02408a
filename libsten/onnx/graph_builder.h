// A graph in the making: operators of sten, and what is known of their values before they run.
#pragma once
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "libsten/graph/graph.h"
#include "libsten/onnx/extent.h"

namespace sten {

class GraphBuilder;

// The number of a value of a draft.
using ValueRef = std::size_t;

struct BuilderValue {
  std::string name{};  // of an input, a weight or a constant of the file; empty: of a step
  std::optional<DType> dtype{};
  std::optional<ExtentList> shape{};
  std::optional<Dense> constant{};
  // Of integers and truth values of rank 0 or 1, where at least something is known.
  std::optional<ExtentList> elements{};
  bool is_weight = false;
  bool is_fixed = false;              // by the file alone, whatever the inputs' elements are
  bool in_by_out = false;             // a weight that was turned to [out, in]
  std::optional<std::size_t> node{};  // that computes it
};

// An operator at work.
struct BuilderNode {
  std::string name;  // that its node is to have, if no other has it
  Name op;
  std::vector<ValueRef> in;
  Attributes attributes;
  ValueRef out = 0;
};

// What a file's constants may take that are computed, when it is read or when the model runs.
class ConstantBudget {
 public:
  explicit ConstantBudget(std::size_t file_bytes);
  // Error where a step with a result of that shape exceeds what is left.
  void spend(const GraphBuilder& builder, const BuilderNode& node, const BuilderValue& result);

 private:
  double most_bytes_, most_operations_;
  double bytes_ = 0, operations_ = 0;
};

class GraphBuilder {
 public:
  // Of a file of so many bytes, which says how much its constants may take: without one, as much as they like.
  explicit GraphBuilder(std::size_t file_bytes = std::numeric_limits<std::size_t>::max())
      : file_bytes_(file_bytes), budget_(file_bytes) {}
  std::size_t file_bytes() const { return file_bytes_; }

  Extents extents;

  ValueRef add_input(std::string name, std::optional<DType> dtype, std::optional<ExtentList> shape);
  ValueRef add_weight(std::string name, const Shape& shape);
  ValueRef add_constant(Dense value, std::string name = "");
  ValueRef add_integers(const std::vector<Index>& list);  // I64, one axis
  ValueRef add_scalar(float x);                           // F32, rank 0
  ValueRef add_leaf(BuilderValue v);  // of another draft, where no step makes it
  // A step, or a constant where all that it takes is constant and the result is small. Error where
  // the file's computed constants exceed their budget.
  ValueRef add(Name op, std::vector<ValueRef> in, Attributes attributes, std::string name);

  const BuilderValue& operator[](ValueRef v) const { return values_[v]; }
  BuilderValue& operator[](ValueRef v) { return values_[v]; }
  const std::vector<BuilderNode>& steps() const { return nodes_; }
  // The step that computes v; nullptr for all else, and where it has another operator than `op`.
  const BuilderNode* node_of(ValueRef v) const;
  const BuilderNode* node_of(ValueRef v, std::string_view op) const;
  // The step, to be changed: its output stays.
  BuilderNode& change(ValueRef v) { return nodes_[*values_[v].node]; }

  // Values that become the outputs `name`: each a step of its own, or a constant.
  void add_output(const std::string& name, ValueRef v);
  struct Output {
    std::string name;
    ValueRef value;
  };
  const std::vector<Output>& outputs() const { return outputs_; }
  std::size_t size() const { return values_.size(); }

 private:
  ValueRef add_value(BuilderValue v);

  std::deque<BuilderValue> values_;  // references to them stay valid as more are added
  std::vector<BuilderNode> nodes_;
  std::vector<Output> outputs_;
  std::unordered_set<ValueRef> taken_by_outputs_;
  std::size_t file_bytes_;
  ConstantBudget budget_;
};

// What can be said of a step's value from what it takes: dtype, shape, elements. See infer.h.
BuilderValue infer(GraphBuilder& builder, const BuilderNode& node);
// The integers that a step computes, as far as they are known; nothing where it computes others.
std::optional<ExtentList> infer_elements(GraphBuilder& builder, const BuilderNode& node,
                                         const BuilderValue& result);

// Of a value whose integers are followed.
constexpr Index most_known_elements = 4096;

// Whether an operator computes each element of what its inputs are repeated to by itself.
bool is_elementwise(std::string_view op);
// Whether it takes images with their channels last.
bool is_image_operator(std::string_view op);

// The order of axes that makes [N, spatial..., C] of [N, C, spatial...], and its inverse.
Attributes::List axes_to_last(std::size_t rank);
Attributes::List axes_to_first(std::size_t rank);

// The extents of what both are repeated to. Error where they cannot be.
ExtentList broadcast(GraphBuilder& builder, const ExtentList& a, const ExtentList& b);

// Puts together what exporters take apart; see fuse.cpp. Counts by name.
std::map<std::string, Index> fuse(GraphBuilder& builder, bool for_inference);

// What the outputs need, as a graph; the inputs are all of them.
Graph lower(const GraphBuilder& builder);

}  // namespace sten
