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

class Draft;

// The number of a value of a draft.
using DraftRef = std::size_t;

struct DraftValue {
  std::string name{};  // of an input, a weight or a constant of the file; empty: of a step
  std::optional<DType> dtype{};
  std::optional<ExtentList> shape{};
  std::optional<Dense> constant{};
  // Of integers and truth values of rank 0 or 1, where at least something is known.
  std::optional<ExtentList> elements{};
  bool is_weight = false;
  bool is_fixed = false;              // by the file alone, whatever the inputs' elements are
  bool in_by_out = false;             // a weight that was turned to [out, in]
  std::optional<std::size_t> step{};  // that computes it
};

// An operator at work.
struct DraftStep {
  std::string name;  // that its node is to have, if no other has it
  Name op;
  std::vector<DraftRef> in;
  Attributes attributes;
  DraftRef out = 0;
};

// What a file's constants may take that are computed, when it is read or when the model runs.
class ConstantBudget {
 public:
  explicit ConstantBudget(std::size_t file_bytes);
  // Error where a step with a result of that shape exceeds what is left.
  void spend(const Draft& draft, const DraftStep& step, const DraftValue& result);

 private:
  double most_bytes_, most_operations_;
  double bytes_ = 0, operations_ = 0;
};

class Draft {
 public:
  // Of a file of so many bytes, which says how much its constants may take: without one, as much as they like.
  explicit Draft(std::size_t file_bytes = std::numeric_limits<std::size_t>::max())
      : file_bytes_(file_bytes), budget_(file_bytes) {}
  std::size_t file_bytes() const { return file_bytes_; }

  Extents extents;

  DraftRef add_input(std::string name, std::optional<DType> dtype, std::optional<ExtentList> shape);
  DraftRef add_weight(std::string name, const Shape& shape);
  DraftRef add_constant(Dense value, std::string name = "");
  DraftRef add_integers(const std::vector<Index>& list);  // I64, one axis
  DraftRef add_number(float x);                           // F32, rank 0
  DraftRef add_leaf(DraftValue v);  // of another draft, where no step makes it
  // A step, or a constant where all that it takes is constant and the result is small. Error where
  // the file's computed constants exceed their budget.
  DraftRef add(Name op, std::vector<DraftRef> in, Attributes attributes, std::string name);

  const DraftValue& operator[](DraftRef v) const { return values_[v]; }
  DraftValue& operator[](DraftRef v) { return values_[v]; }
  const std::vector<DraftStep>& steps() const { return steps_; }
  // The step that computes v; nullptr for all else, and where it has another operator than `op`.
  const DraftStep* step_of(DraftRef v) const;
  const DraftStep* step_of(DraftRef v, std::string_view op) const;
  // The step, to be changed: its output stays.
  DraftStep& change(DraftRef v) { return steps_[*values_[v].step]; }

  // Values that become the outputs `name`: each a step of its own, or a constant.
  void add_output(const std::string& name, DraftRef v);
  struct Output {
    std::string name;
    DraftRef value;
  };
  const std::vector<Output>& outputs() const { return outputs_; }
  std::size_t size() const { return values_.size(); }

 private:
  DraftRef add_value(DraftValue v);

  std::deque<DraftValue> values_;  // references to them stay valid as more are added
  std::vector<DraftStep> steps_;
  std::vector<Output> outputs_;
  std::unordered_set<DraftRef> taken_by_outputs_;
  std::size_t file_bytes_;
  ConstantBudget budget_;
};

// What can be said of a step's value from what it takes: dtype, shape, elements. See infer.h.
DraftValue infer(Draft& draft, const DraftStep& step);
// The integers that a step computes, as far as they are known; nothing where it computes others.
std::optional<ExtentList> infer_elements(Draft& draft, const DraftStep& step,
                                         const DraftValue& result);

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
ExtentList broadcast(Draft& draft, const ExtentList& a, const ExtentList& b);

// Puts together what exporters take apart; see fuse.cpp. Counts by name.
std::map<std::string, Index> fuse(Draft& draft, bool for_inference);

// What the outputs need, as a graph; the inputs are all of them.
Graph finish(const Draft& draft);

}  // namespace sten
