// The table of operators: who computes what, chosen by the layouts of inputs and outputs.
#pragma once
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <unordered_map>

#include "libsten/base/fallback.h"
#include "libsten/dispatch/attributes.h"
#include "libsten/dispatch/out_format.h"
#include "libsten/dispatch/registry.h"
#include "libsten/dispatch/signature.h"

namespace sten {

// What a sparsifier of an output may ask for, and what its implementation may.
struct OutHints {
  const Tensor* like = nullptr;     // same-pattern: whose positions
  const Dense* scores = nullptr;    // those that rank by more than the values
  const Sparsifier* own = nullptr;  // resparsify
  // A dense tensor of the output's shape and dtype. The caller adds the output to it, unless the
  // implementation does (Call::add_to_sum). Only where the format changes nothing.
  std::optional<Tensor>* sum = nullptr;
};

// Tensors that an implementation hands to the gradient of its operator, by names of its own.
using SavedTensors = std::vector<std::pair<std::string, Tensor>>;

// One call of an operator, as its implementations see it.
struct Call {
  std::span<const Tensor> in;
  // Of each output; nullptr for one that nobody wants, as gradients of constants.
  std::span<const OutFormat* const> formats;
  const Attributes& attributes;
  // Of a gradient: the shapes of the operator's inputs.
  std::span<const Shape> shapes = {};
  // Of each output, or none at all.
  std::span<const OutHints> hints = {};
  // Where save() puts tensors; nullptr: no tape records the call. Of a gradient: what was saved.
  SavedTensors* ctx = nullptr;

  // For what the forward has at hand and its gradient would compute again: kept with the step, and
  // released when the tape lets go of it. Without a tape nothing happens.
  void save(std::string name, Tensor x) const {
    if (ctx) ctx->emplace_back(std::move(name), std::move(x));
  }
  // In a gradient; nullptr where the implementation that ran saved nothing of that name.
  const Tensor* saved(std::string_view name) const;

  bool wants(std::size_t i) const { return formats[i] != nullptr; }
  const OutFormat& out(std::size_t i = 0) const { return *formats[i]; }

  // For an implementation that would rather add to a sum than write zeros for others to add.
  // f(Values&) adds output i to the caller's sum, in place where nobody else holds it; return the
  // result as the output. Without a sum the result is empty and f does not run. If f throws, it
  // does so before it writes, and the caller keeps the sum.
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

// In the order of the formats; what nobody wants may be left out, and so may be the gradient of an
// input that has none, such as the numbers of an embedding's rows.
using Outputs = std::vector<std::optional<Tensor>>;
using Implementation = std::function<Outputs(const Call&)>;

// Which tensors of the operator its gradient reads; others: all inputs but the first.
enum class SavedForBackward { inputs, outputs, others, nothing };
using Keeps [[deprecated("SavedForBackward")]] = SavedForBackward;

// What is true of an operator, whatever the layouts. Its gradient is the operator of the name with
// ".grad": inputs are the gradients of its outputs and what it keeps, outputs the gradients of its
// inputs.
struct Operator {
  SavedForBackward saves = SavedForBackward::inputs;
};

// One decision, as data.
struct Plan {
  union {
    DispatchKind kind = DispatchKind::exact;
    DispatchKind way;  // deprecated: kind
  };
  std::vector<Name> in;     // the layouts that inputs are brought to before
  std::vector<bool> after;  // outputs that are computed dense, and sparsified after that
  double cost = 0;          // of conversions
  std::string text;         // one line: what was chosen, and of a fallback what was missing
  std::shared_ptr<const Implementation> run;
  bool moves = false;  // inputs are taken from their device to the CPU before, outputs back after
};

class Operators {
 public:
  explicit Operators(const Registry& layouts) : layouts_(layouts) {}

  // Once per operator; without, it keeps its inputs.
  void declare(Name op, const Operator& what);
  Operator what(Name op) const;
  // `pattern` may have the names of `any` in it. `when`, if not empty, has to agree as well. What
  // has fewer wildcards is preferred, and among equals what was added last; the same pattern,
  // without a `when`, replaces. So a user's implementation goes before a built-in one.
  void add(Signature pattern, Implementation run,
           std::function<bool(const Signature&)> when = nullptr);

  // What a call with such inputs and outputs does. The routes in order: an implementation for these
  // layouts; where inputs are on a device, then what is planned for the CPU; one for layouts that
  // inputs can be converted to without loss, at the least cost; the same with outputs that are
  // dense and sparsified after that; the dense one. A conversion costs 1 for each direct edge and
  // dense_cost where it goes through dense; dense inputs are never converted. Error (usage) where
  // not even a dense implementation exists. Needs no tensors, changes nothing but the cache, and
  // is kept until something is added.
  std::shared_ptr<const Plan> plan(const Signature& wanted) const;
  static constexpr double dense_cost = 8;

  // Carries the plan for a call out; where its implementation throws Unsupported, the dense one.
  // Reports the text of a plan that is not exact (report_fallback).
  Outputs run(Name op, const Call& call) const;

  // Signatures that have an implementation, with their wildcards, by operator.
  std::vector<Signature> patterns(Name op) const;
  std::vector<Name> all() const;

  // From now on the texts of the plans that this thread's run() carries out are appended; nullptr:
  // no more. To look into what a model does.
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
  // Every input dense, and every output made dense first.
  Plan dense_plan(const Signature& wanted, const std::string& why) const;
  // Of what is on a device, that of the CPU.
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

// The process-wide one, with the built-ins in it.
Operators& operators();

// By operators().
Outputs run(Name op, const Call& call);
// One output, of an operator with one.
Tensor apply(Name op, std::initializer_list<Tensor> in, const Attributes& attributes = {},
             const OutFormat& out = OutFormat::dense());
Tensor apply(Name op, std::span<const Tensor> in, const Attributes& attributes = {},
             const OutFormat& out = OutFormat::dense());

// For namespace scope, as add_layout().
bool add_operator(Signature pattern, Implementation run);
bool declare_operator(Name op, const Operator& what);

}  // namespace sten
