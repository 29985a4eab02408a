// SPDX-License-Identifier: Apache-2.0
// Reverse-mode automatic differentiation: a tape records the operators that run and walks them
// backwards.
//
//   Tape tape;
//   const Var w = tape.parameter(weight), x = tape.constant(batch);
//   tape.backward(mse(linear(x, w), y));
//   sgd.step(weight, *w.grad());
//
// A Var is a value and the slot of its gradient. The value lives as long as the Var or a step of
// the tape that needs it. A tape belongs to one thread; make one per training step.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "libsten/core/dispatch/operators.h"

namespace sten {

class Tape;

namespace tape_detail {

// The sum of the gradients of a value.
struct Slot {
  Tape* tape = nullptr;
  bool is_leaf = false, is_kept = false;
  OutFormat format{};            // of the gradient
  Shape shape{};                 // of the value
  std::optional<Tensor> like{};  // a sparse value whose positions same-pattern uses
  std::optional<Tensor> grad{};
  Index expected = 0;      // contributions not yet received
  std::size_t number = 0;  // of a leaf: its index among the leaves of the tape
};

}  // namespace tape_detail

class Var {
 public:
  // A constant.
  Var(Tensor value) : value_(std::move(value)) {}

  const Tensor& value() const { return value_; }
  Shape shape() const { return value_.shape(); }
  bool wants_grad() const { return slot_ != nullptr; }
  // The gradient after backward(): of a parameter, or of a value after retain_grad().
  const std::optional<Tensor>& grad() const;
  const Var& retain_grad() const;
  [[deprecated("retain_grad")]] const Var& keep_grad() const { return retain_grad(); }
  // Identifies a value of a tape: equal for all copies as long as one of them lives; nullptr for
  // constants.
  const void* identity() const { return slot_.get(); }

 private:
  friend class Tape;
  friend class DeferredSparsity;
  friend void apply_in_place(Name, Var&, std::span<const Var>, const Attributes&,
                             const std::function<void(Tensor&)>&);
  Var(Tensor value, std::shared_ptr<tape_detail::Slot> slot)
      : value_(std::move(value)), slot_(std::move(slot)) {}

  Tensor value_;
  std::shared_ptr<tape_detail::Slot> slot_;
};

class Tape {
 public:
  Tape() = default;
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;
  ~Tape();

  // A leaf that receives a gradient, by default in its own layout at its own positions.
  Var parameter(Tensor value);
  Var parameter(Tensor value, OutFormat grad);

  // Runs an operator, with one output or one per format, and records it if an input wants a
  // gradient. An external sparsifier whose scores come from the gradient must wait for it: the
  // output stays in the temporary layout (DeferredSparsity).
  Var apply(Name op, std::span<const Var> in, const Attributes& attributes = {},
            const Formats& formats = Formats::dense());
  std::vector<Var> apply_all(Name op, std::span<const Var> in, const Attributes& attributes,
                             std::span<const Formats> formats);

  // Runs an operator in place: x becomes its output, whose format is dense or that of x; `write`
  // computes it from the value of x. Error (usage), which leaves x unchanged, if x is a parameter
  // or a recorded step needs the old value.
  void apply_in_place(Name op, Var& x, std::span<const Var> others, const Attributes& attributes,
                      const std::function<void(Tensor&)>& write);

  // Adds dy/dp to the gradient of every parameter p that y depends on. seed: the gradient of y;
  // default 1, for y of one element. Contributions are summed before the format of a gradient
  // applies; same-pattern applies to each. Releases the recorded steps unless retain_graph. Error
  // (usage) if y depends on no parameter, or if a recorded operator has no gradient. After an
  // exception, parameters have their previous gradients.
  void backward(const Var& y, std::optional<Tensor> seed = {}, bool retain_graph = false);
  // The same, but passes each parameter's gradient to `to` as soon as it is complete, while others
  // are still computed, instead of storing it. The order is fixed: parameters of the last steps
  // first. Parameters are counted from 0 in the order of parameter().
  using Receiver = std::function<void(std::size_t parameter, Tensor gradient)>;
  void backward(const Var& y, std::optional<Tensor> seed, const Receiver& to);
  // The same for several values, each with its gradient.
  using Seed = std::pair<const Var*, Tensor>;
  void backward(std::span<const Seed> seeds, const Receiver& to);

  // An operator that ran on values of this tape.
  struct Applied {
    Name op;
    std::span<const Var> in;
    const Attributes& attributes;
    std::span<const Formats> formats;
    std::span<const Var> out;
  };
  // From now on, shows every operator to f instead of recording it. All outputs then have an
  // identity(), including integers.
  using Watcher = std::function<void(const Applied&)>;
  void watch(Watcher f) { watcher_ = std::move(f); }

  // The tape of a value that wants a gradient. Error (usage) if the tape was destroyed.
  static Tape& of(const Var& v);
  // Number of recorded steps.
  std::size_t size() const { return steps_.size(); }
  // While an object lives, nothing is recorded.
  class NoGrad {
   public:
    explicit NoGrad(Tape& tape) : tape_(tape), before_(tape.is_paused_) { tape.is_paused_ = true; }
    ~NoGrad() { tape_.is_paused_ = before_; }
    NoGrad(const NoGrad&) = delete;
    NoGrad& operator=(const NoGrad&) = delete;

   private:
    Tape& tape_;
    bool before_;
  };

 private:
  using SlotPtr = std::shared_ptr<tape_detail::Slot>;
  struct Step {
    Name op;  // the gradient operator
    Attributes attributes;
    std::vector<SlotPtr> in, out;  // nullptr: no gradient wanted
    std::vector<Tensor> saved_values;
    std::vector<Shape> shapes;  // of the inputs
    SavedTensors saved{};       // by the implementation that ran
  };

  Tensor seed_of(const Var& y, std::optional<Tensor> given) const;
  void walk_back(std::span<const Seed> seeds, bool retain_graph, const Receiver* to);
  void walk(Step& step, const Receiver* to);
  Step step_of(Name op, std::span<const Var> in, const Attributes& attributes) const;
  SlotPtr new_slot(const Tensor& value, const Formats& formats);
  void check_unneeded(Name op, const Var& x) const;

  std::vector<Step> steps_;
  std::vector<std::weak_ptr<tape_detail::Slot>> leaves_;
  bool is_paused_ = false;
  Watcher watcher_;
};

// Deferred sparsity: a sparsifier that waits for the gradient of its input, as first-order pruning
// does.
class DeferredSparsity {
 public:
  DeferredSparsity(const Var& x, Sparsifier by, Spec layout);
  bool is_ready() const;
  // The sparsified value. Error (usage) unless is_ready(). The scores are Sparsifier::scores_of()
  // of x and its gradient.
  Tensor get() const;

 private:
  Var x_;
  Sparsifier by_;
  Spec layout_;
};
using LateSparsity [[deprecated("DeferredSparsity")]] = DeferredSparsity;

// Runs on the tape of the first input that wants a gradient; without one, records nothing.
Var apply(Name op, std::initializer_list<Var> in, const Attributes& attributes = {},
          const Formats& formats = Formats::dense());
Var apply(Name op, std::span<const Var> in, const Attributes& attributes = {},
          const Formats& formats = Formats::dense());
// In place, like Tape::apply_in_place().
void apply_in_place(Name op, Var& x, std::span<const Var> others, const Attributes& attributes,
                    const std::function<void(Tensor&)>& write);

}  // namespace sten
