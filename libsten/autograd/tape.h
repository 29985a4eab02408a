// Reverse-mode automatic differentiation: a tape remembers the operators that ran, and walks them
// backwards.
//
//   Tape tape;
//   const Var w = tape.parameter(weight), x = tape.constant(batch);
//   tape.backward(mse(linear(x, w), y));
//   sgd.step(weight, *w.grad());
//
// A Var is a value and where its gradient goes; its value lives as long as it or a step of the tape
// that needs it. A tape is one thread's; make one for each step of training.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "libsten/dispatch/operators.h"

namespace sten {

class Tape;

namespace tape_detail {

// Where gradients of one value are added up.
struct Slot {
  Tape* tape = nullptr;
  bool is_leaf = false, is_kept = false;
  OutFormat format{};            // of the gradient
  Shape shape{};                 // of the value
  std::optional<Tensor> like{};  // a sparse value, whose positions same-pattern takes
  std::optional<Tensor> grad{};
  Index expected = 0;      // contributions that are still to come
  std::size_t number = 0;  // of a leaf: how many its tape had before
};

}  // namespace tape_detail

class Var {
 public:
  // A constant.
  Var(Tensor value) : value_(std::move(value)) {}

  const Tensor& value() const { return value_; }
  Shape shape() const { return value_.shape(); }
  bool wants_grad() const { return slot_ != nullptr; }
  // Of a parameter after backward(), and of another value where retain_grad() was said before.
  const std::optional<Tensor>& grad() const;
  const Var& retain_grad() const;
  [[deprecated("retain_grad")]] const Var& keep_grad() const { return retain_grad(); }
  // The same for all copies of a value of a tape, for as long as one of them lives; nullptr of a
  // constant.
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

  // A leaf whose gradient is wanted: of its own positions in its own layout, unless said otherwise.
  Var parameter(Tensor value);
  Var parameter(Tensor value, OutFormat grad);

  // Runs an operator with one output, or with one for each format, and remembers it where
  // one of the inputs wants a gradient. An external sparsifier that needs scores, which here come
  // with the gradient, has to wait for it: the output is in the temporary layout (DeferredSparsity).
  Var apply(Name op, std::span<const Var> in, const Attributes& attributes = {},
            const Formats& formats = Formats::dense());
  std::vector<Var> apply_all(Name op, std::span<const Var> in, const Attributes& attributes,
                             std::span<const Formats> formats);

  // The same in place: x becomes the operator's output, whose format is dense or x's own, and
  // `write` makes it of the value that x has. Error (usage), and x is unchanged, where x is a
  // parameter, or a step of the tape needs the old value to be walked back.
  void apply_in_place(Name op, Var& x, std::span<const Var> others, const Attributes& attributes,
                      const std::function<void(Tensor&)>& write);

  // dy/d of every parameter that y depends on is added to its gradient. seed: the gradient of y;
  // without one y has one element, and it is 1. What a value's uses contribute is added up, and the
  // format of its gradient applied to the sum; same-pattern to each of them. What the steps kept is
  // let go, unless they are to be walked again. Error (usage) where y does not depend on a
  // parameter, or an operator on the way has no gradient. If it throws, parameters keep the
  // gradients that they had before.
  void backward(const Var& y, std::optional<Tensor> seed = {}, bool retain_graph = false);
  // The same, but gradients of parameters go to `to` as soon as they are whole, while others are still
  // computed, and not to their Vars. Those of the last steps come first, always in the same order.
  // Parameters have numbers from 0 on, as parameter() made them.
  using Receiver = std::function<void(std::size_t parameter, Tensor gradient)>;
  void backward(const Var& y, std::optional<Tensor> seed, const Receiver& to);

  // An operator that ran on values of this tape.
  struct Applied {
    Name op;
    std::span<const Var> in;
    const Attributes& attributes;
    std::span<const Formats> formats;
    std::span<const Var> out;
  };
  // Each one from now on is shown to f, and not remembered to go backwards. All outputs have an
  // identity() then, integers too.
  using Watcher = std::function<void(const Applied&)>;
  void watch(Watcher f) { watcher_ = std::move(f); }

  // That of a value that wants a gradient: Error (usage) where it is gone.
  static Tape& of(const Var& v);
  // Steps that are remembered.
  std::size_t size() const { return steps_.size(); }
  // While it lives nothing is remembered.
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
    Name op;  // of the gradient
    Attributes attributes;
    std::vector<SlotPtr> in, out;  // nullptr: no gradient is wanted
    std::vector<Tensor> saved_values;
    std::vector<Shape> shapes;  // of the inputs
    SavedTensors saved{};       // by the implementation that ran
  };

  void walk_back(const Var& y, std::optional<Tensor> seed, bool retain_graph, const Receiver* to);
  void walk(Step& step, const Receiver* to);
  Step step_of(Name op, std::span<const Var> in, const Attributes& attributes) const;
  SlotPtr new_slot(const Tensor& value, const Formats& formats);
  void check_unneeded(Name op, const Var& x) const;

  std::vector<Step> steps_;
  std::vector<std::weak_ptr<tape_detail::Slot>> leaves_;
  bool is_paused_ = false;
  Watcher watcher_;
};

// What a sparsifier makes of a value when its gradient has come: first-order pruning.
class DeferredSparsity {
 public:
  DeferredSparsity(const Var& x, Sparsifier by, Spec layout);
  bool is_ready() const;
  // Error (usage) before it is ready. The scores are what the sparsifier makes of x and its
  // gradient (Sparsifier::scores_of).
  Tensor get() const;

 private:
  Var x_;
  Sparsifier by_;
  Spec layout_;
};
using LateSparsity [[deprecated("DeferredSparsity")]] = DeferredSparsity;

// On the tape of the first that wants a gradient; without one nothing is remembered.
Var apply(Name op, std::initializer_list<Var> in, const Attributes& attributes = {},
          const Formats& formats = Formats::dense());
Var apply(Name op, std::span<const Var> in, const Attributes& attributes = {},
          const Formats& formats = Formats::dense());
// In place, as Tape::apply_in_place().
void apply_in_place(Name op, Var& x, std::span<const Var> others, const Attributes& attributes,
                    const std::function<void(Tensor&)>& write);

}  // namespace sten
