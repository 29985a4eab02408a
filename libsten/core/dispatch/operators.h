// SPDX-License-Identifier: Apache-2.0
// The table of operators and their implementations, chosen by the layouts of inputs and outputs.
#pragma once
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <unordered_map>

#include "libsten/core/base/fallback.h"
#include "libsten/core/dispatch/attributes.h"
#include "libsten/core/dispatch/out_format.h"
#include "libsten/core/dispatch/signature.h"
#include "libsten/core/registry/registry.h"
#include "libsten/core/registry/route.h"

namespace sten {

// Inputs of an output's sparsifier, and the sum to which an implementation may add.
struct OutHints {
  const Tensor* like = nullptr;     // same-pattern: the tensor whose positions are used
  const Dense* scores = nullptr;    // for sparsifiers that rank by scores
  const Sparsifier* own = nullptr;  // resparsify
  // A dense tensor of the output's shape and dtype to which the caller adds the output, unless the
  // implementation does (Call::add_to_sum). Only for formats that change nothing.
  std::optional<Tensor>* sum = nullptr;
};

// Named tensors that an implementation saves for backward.
using SavedTensors = std::vector<std::pair<std::string, Tensor>>;

// The arguments of an implementation: one call of an operator.
struct Call {
  std::span<const Tensor> in;
  // The format of each output; nullptr for unneeded outputs, such as gradients of constants.
  std::span<const OutFormat* const> formats;
  const Attributes& attributes;
  // In a gradient: the shapes of the operator's inputs.
  std::span<const Shape> shapes = {};
  // Hints of each output, or empty.
  std::span<const OutHints> hints = {};
  // The tensors of save(); nullptr if no tape records the call. In a gradient: the saved tensors.
  SavedTensors* ctx = nullptr;

  // Saves an intermediate result that the gradient would otherwise compute again. The tape keeps x
  // with the recorded operator. Does nothing without a tape.
  void save(std::string name, Tensor x) const {
    if (ctx) ctx->emplace_back(std::move(name), std::move(x));
  }
  // In a gradient: a saved tensor; nullptr if the forward implementation did not save `name`.
  const Tensor* saved(std::string_view name) const;

  bool wants(std::size_t i) const { return formats[i] != nullptr; }
  const OutFormat& out(std::size_t i = 0) const { return *formats[i]; }

  // Lets an implementation add to the caller's sum instead of writing a new tensor. Calls
  // f(Values&) to add output i to the sum, in place if nothing else shares it; return the result as
  // the output. Without a sum, the result is empty and f is not called. f may throw only before it
  // writes; the caller then keeps the sum.
  template <class F>
  std::optional<Tensor> add_to_sum(std::size_t i, F&& f) const;
};

template <class F>
std::optional<Tensor> Call::add_to_sum(std::size_t i, F&& f) const {
  if (hints.empty() || !hints[i].sum || !*hints[i].sum) return std::nullopt;
  std::optional<Tensor>& sum = *hints[i].sum;
  std::exception_ptr failure;
  sum = Tensor::update(*std::move(sum), [&](Values& v) {
    try {
      f(v);
    } catch (...) {
      failure = std::current_exception();
    }
  });
  if (failure) std::rethrow_exception(failure);
  return std::exchange(sum, std::nullopt);
}

// Results in the order of the formats. Unneeded outputs may be empty, and so may the gradient of an
// input without gradient, such as indices.
using Outputs = std::vector<std::optional<Tensor>>;
using Implementation = std::function<Outputs(const Call&)>;

// The tensors that the gradient reads; others: all inputs except the first.
enum class SavedForBackward { inputs, outputs, others, nothing };
using Keeps [[deprecated("SavedForBackward")]] = SavedForBackward;

// Properties of an operator in all layouts. Its gradient is the operator "NAME.grad": inputs are
// the gradients of the outputs and the saved tensors, outputs are the gradients of the inputs.
struct Operator {
  SavedForBackward saves = SavedForBackward::inputs;
};

// A plan: one dispatch decision as data.
struct Plan {
  union {
    DispatchKind kind = DispatchKind::exact;
    DispatchKind way;  // deprecated: kind
  };
  std::vector<Name> in;     // layouts to which inputs are converted first
  std::vector<bool> after;  // outputs that are computed dense, then sparsified
  double cost = 0;          // of conversions
  std::string text;         // one line: the decision, and the reason of a fallback
  std::shared_ptr<const Implementation> run;
  bool moves = false;  // copies inputs from their device to the CPU, and outputs back
};

class Operators {
 public:
  explicit Operators(const Registry& layouts) : layouts_(layouts) {}

  // Declares an operator, once. Undeclared operators save their inputs.
  void declare(Name op, const Operator& what);
  Operator what(Name op) const;
  // Adds an implementation for all signatures that match `pattern`, which may have wildcards
  // (`any`), and for which `when`, if given, returns true. Patterns with fewer wildcards take
  // precedence, then later additions, so that implementations of users precede built-in ones. The
  // same pattern without a `when` is replaced.
  void add(Signature pattern, Implementation run,
           std::function<bool(const Signature&)> when = nullptr);

  // The plan of a call. Tries in this order:
  //  1. an implementation for these layouts
  //  2. for inputs on a device: the plan for the CPU
  //  3. the implementation whose inputs are reached by lossless conversions at the lowest cost
  //  4. the same with dense outputs that are sparsified afterwards
  //  5. the dense implementation
  // A conversion costs what its route does (route.h); dense inputs are never
  // converted. Error (usage) without a dense implementation. Needs no tensors; plans are cached
  // until something is added.
  std::shared_ptr<const Plan> plan(const Signature& wanted) const;
  static constexpr double dense_cost = Route::dense_cost;

  // Runs the plan of a call, or the dense plan if the implementation throws Unsupported. Reports
  // plans that are not exact (report_fallback).
  Outputs run(Name op, const Call& call) const;

  // The patterns that have an implementation, with wildcards, by operator.
  std::vector<Signature> patterns(Name op) const;
  std::vector<Name> all() const;

  // Appends the texts of all plans that run() executes on this thread to `to`, for inspecting a
  // model; nullptr stops.
  static void log_plans(std::vector<std::string>* to);

 private:
  struct Entry {
    Signature pattern;
    std::function<bool(const Signature&)> when;
    std::shared_ptr<const Implementation> run;
    int wildcards;
  };
  using Key = std::vector<std::uint32_t>;
  struct KeyHash {
    using is_transparent = void;
    std::size_t operator()(std::span<const std::uint32_t> key) const;
  };
  struct KeyEqual {
    using is_transparent = void;
    bool operator()(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) const;
  };
  std::shared_ptr<const Plan> find(std::span<const std::uint32_t> key) const;
  std::shared_ptr<const Plan> plan_of(Name op, const Call& call) const;
  Plan make_plan(const Signature& wanted) const;
  // The plan that converts all inputs to dense and sparsifies dense outputs.
  Plan dense_plan(const Signature& wanted, const std::string& why) const;
  // The plan for inputs on a device that runs on the CPU.
  Plan cpu_plan(const Signature& wanted, const std::string& why) const;
  Outputs carry_out(Name op, const Plan& plan, const Call& call) const;
  Outputs carry_out_on_cpu(Name op, const Plan& plan, const Call& call) const;
  const Entry* best(const Signature& wanted) const;
  std::optional<Plan> convert_plan(const Signature& wanted) const;
  std::optional<double> conversion_cost(Name from, Name to) const;

  const Registry& layouts_;
  mutable std::shared_mutex lock_;
  std::map<Name, Operator> declared_;
  std::map<Name, std::vector<Entry>> entries_;
  mutable std::unordered_map<Key, std::shared_ptr<const Plan>, KeyHash, KeyEqual> plans_;
};

// Adds the built-in operators. Defined in libsten/compute/ops/common/builtin.cpp.
void add_builtin_operators(Operators& all);
// The operators of the process, including the built-in ones.
Operators& operators();

Outputs run(Name op, const Call& call);
// Runs an operator with one output.
Tensor apply(Name op, std::initializer_list<Tensor> in, const Attributes& attributes = {},
             const OutFormat& out = OutFormat::dense());
Tensor apply(Name op, std::span<const Tensor> in, const Attributes& attributes = {},
             const OutFormat& out = OutFormat::dense());

// For namespace scope, like add_layout().
bool add_operator(Signature pattern, Implementation run);
bool declare_operator(Name op, const Operator& what);

}  // namespace sten
