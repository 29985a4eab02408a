// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/execution/executor.h"

#include <algorithm>
#include <utility>

#include "libsten/compute/ops/products/mixture_of_experts.h"
#include "libsten/core/base/name_pattern.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/tensor/low_floats.h"
#include "libsten/model/execution/execution_order.h"
#include "libsten/model/execution/fused_operator.h"

namespace sten {
namespace {

using execution::FusedOperator;
using execution::PlanContext;
using execution::Slots;

Index bytes_of(const Tensor& x) { return static_cast<Index>(x.bytes()); }

PlanContext context_of(const Graph& g, const ExecutorOptions& options) {
  PlanContext plan{g};
  plan.device = options.device;
  std::vector<NamePattern> patterns;
  for (const PrecisionRule& r : options.precision) patterns.emplace_back(r.nodes);
  for (const Node& n : g.nodes()) {
    const auto matches = [&](const NamePattern& p) { return p.matches(n.name); };
    const auto rule = std::ranges::find_if(patterns, matches) - patterns.begin();
    plan.low.push_back(options.fuse && rule < std::ssize(patterns) &&
                       options.precision[rule].precision == Precision::bf16);
  }
  return plan;
}

// Whether an operator without a bfloat16 variant uses the weight.
bool is_taken_in_float32(const PlanContext& plan, std::size_t weight) {
  for (std::size_t n = 0; n < plan.graph.nodes().size(); ++n)
    for (std::size_t i = 0; i < plan.graph.arguments(n).size(); ++i) {
      if (plan.graph.arguments(n)[i] != weight) continue;
      const std::string_view op = plan.graph.nodes()[n].op.text();
      if ((op == "linear" && (i != 1 || !plan.low[n])) || op == "layer-norm" || op == "rms-norm" ||
          op == "rotary" ||
          (op == "mixture-of-experts" && (i < first_expert_input || !plan.low[n])))
        return true;
    }
  return false;
}

ExecutorOptions as_on_device(ExecutorOptions o) {
  if (o.device == Device::cpu) return o;
  if (o.caches) fail_usage("KV caches: expected a model on the CPU, got {}", name_of(o.device));
  o.fuse = false;
  return o;
}

}  // namespace

const char* name_of(Precision p) { return p == Precision::bf16 ? "bf16" : "float32"; }

struct Executor::State {
  Graph given;
  execution::ExecutionOrder order;
  const Graph& graph = order.graph;
  NamedValues<Tensor> weights;
  ExecutorOptions options;
  PlanContext context;
  bool times_steps = options.device == Device::cpu;
  ExecutionPlan plan{};
  NamedValues<Tensor> outputs{};
  // Inputs for whose shapes the plan is made.
  struct Given {
    std::string layout;
    DType dtype;
    Shape shape;
  };
  std::vector<Given> inputs{};
  std::optional<Slots> slots{};
  std::vector<std::unique_ptr<FusedOperator>> operators{};

  State(Graph g, NamedValues<Tensor> w, const ExecutorOptions& o)
      : given(std::move(g)),
        order(o.fuse && o.device == Device::cpu
                  ? execution::execution_order(given)
                  : execution::ExecutionOrder{given, given.outputs()}),
        weights(std::move(w)),
        options(as_on_device(o)),
        context(context_of(graph, options)) {
    if (o.device != Device::cpu) {
      for (auto& [name, x] : weights)
        if (x.device() != o.device) x = widened(x).to(o.device);
      return;
    }
    for (std::size_t i = 0; i < graph.weights().size(); ++i) {
      const auto w = weights.find(graph.weights()[i].name);
      if (w != weights.end() && is_taken_in_float32(context, graph.first_weight() + i))
        w->second = widened(w->second);
    }
  }

  void forget() {
    operators.clear();
    plan.steps.clear();
    plan.runs = 0;
    slots.reset();
    inputs.clear();
  }
  bool is_planned_for(const NamedValues<Tensor>& given) const {
    std::size_t i = 0;
    if (given.size() != inputs.size() || !slots) return false;
    for (const auto& [name, x] : given) {
      const Given& was = inputs[i++];
      const bool same = x.is<Dense>() ? x.as<Dense>().extents == was.shape : x.shape() == was.shape;
      if (!same || x.layout() != was.layout || x.dtype() != was.dtype) return false;
    }
    return true;
  }

  void give(const NamedValues<Tensor>& given) {
    for (std::size_t i = 0; i < graph.inputs().size(); ++i)
      (*slots)[i].tensor = given.find(graph.inputs()[i])->second.to(options.device);
  }
  // Prepares a plan, before its first run.
  void begin_plan(const NamedValues<Tensor>& given) {
    forget();
    slots.emplace(graph.value_count());
    slots->times_steps = times_steps;
    for (const auto& [name, x] : given)
      inputs.push_back({std::string(x.layout()), x.dtype(), x.shape()});
    std::size_t at = graph.first_weight();
    plan.weight_bytes = 0;
    for (const Weight& w : graph.weights())
      plan.weight_bytes += bytes_of(*((*slots)[at++].tensor = weights.find(w.name)->second));
    for (const Constant& c : graph.constants())
      plan.weight_bytes += bytes_of(*((*slots)[at++].tensor = Tensor(c.value.to(options.device))));
  }

  std::unique_ptr<FusedOperator> next_operator(std::size_t node, std::size_t& count) {
    count = 1;
    if (options.caches)
      if (auto fused = execution::fused_cached_attention(context, *options.caches, node, *slots))
        return fused;
    if (options.fuse) {
      if (auto fused = execution::fused_chain(context, node, *slots, count)) return fused;
      count = 1;
      if (auto fused = execution::fused_attention(context, node, *slots)) return fused;
      if (auto fused = execution::fused_experts(context, node, *slots)) return fused;
    }
    return execution::single_operator(context, node);
  }

  void run_first(const NamedValues<Tensor>& given) {
    begin_plan(given);
    give(given);
    for (std::size_t node = 0, count = 0; node < graph.nodes().size(); node += count) {
      slots->begin_operator(std::ssize(operators));
      auto fused = next_operator(node, count);
      for (std::size_t n = node; n < node + count; ++n)
        std::ranges::copy_if(graph.last_uses(n), std::back_inserter(fused->released),
                             [&](std::size_t value) { return !context.is_weight(value); });
      fused->run(*slots);
      for (const std::size_t value : fused->released) slots->release(value);
      operators.push_back(std::move(fused));
    }
    slots->end_plan();
    plan.live_bytes = plan.peak_bytes = 0;
    if (options.device != Device::cpu) return;  // products there have memory of their own
    plan.peak_bytes = slots->held_bytes();
    Index working = 0;
    const std::vector<Index> held = slots->live_size_by_operator(std::ssize(operators));
    for (std::size_t i = 0; i < operators.size(); ++i) {
      const Index bytes = operators[i]->working_bytes();
      working = std::max(working, bytes);
      plan.live_bytes = std::max(plan.live_bytes, held[i] + bytes / threads());
    }
    plan.peak_bytes += working;
  }
  // False if a new plan is needed.
  bool run_again(const NamedValues<Tensor>& given) {
    give(given);
    lend_outputs();
    slots->times_steps = times_steps;
    slots->begin_run();
    try {
      for (const auto& fused : operators) {
        fused->run(*slots);
        for (const std::size_t value : fused->released) slots->release(value);
      }
    } catch (const execution::PlanChanged&) {
      return false;
    }
    return true;
  }

  // Before a run, passes output tensors to the operators that overwrite them.
  void lend_outputs() {
    for (const auto& fused : operators)
      for (const std::size_t value : fused->stored) {
        const auto at = std::ranges::find(graph.output_values(), value);
        if (at == graph.output_values().end()) continue;
        const auto out = outputs.find(order.outputs[at - graph.output_values().begin()]);
        if (out != outputs.end()) (*slots)[value].tensor = std::move(out->second);
      }
  }
  void take_outputs() {
    for (std::size_t i = 0; i < graph.output_values().size(); ++i) {
      const std::size_t value = graph.output_values()[i];
      Tensor x = slots->tensor(value);
      // A leftover tensor would be used by the next run.
      if (value >= graph.first_node()) (*slots)[value].tensor.reset();
      const auto at = outputs.find(order.outputs[i]);
      if (at != outputs.end())
        at->second = std::move(x);
      else
        outputs.emplace(order.outputs[i], std::move(x));
    }
  }

  void copy_steps() {
    std::size_t count = 0;
    for (const auto& fused : operators) count += fused->steps.size();
    if (plan.steps.size() != count) {
      plan.steps.clear();
      for (const auto& fused : operators)
        plan.steps.insert(plan.steps.end(), fused->steps.begin(), fused->steps.end());
      return;
    }
    std::size_t i = 0;
    for (const auto& fused : operators)
      for (const ExecutionStep& s : fused->steps) plan.steps[i++].seconds = s.seconds;
  }
};

Executor::Executor(Graph graph, NamedValues<Tensor> weights, const ExecutorOptions& options)
    : state_(std::make_unique<State>(std::move(graph), std::move(weights), options)) {
  state_->graph.check_weights(state_->weights);
}

Executor::Executor(Executor&&) noexcept = default;
Executor& Executor::operator=(Executor&&) noexcept = default;
Executor::~Executor() = default;

void Executor::release_packed_weights() {
  state_->forget();
  for (const auto& [name, weight] : state_->weights) weight.derived().clear();
}
void Executor::time_steps(bool on) { state_->times_steps = on; }
NamedValues<Tensor> Executor::take_outputs() { return std::exchange(state_->outputs, {}); }
const ExecutionPlan& Executor::plan() const { return state_->plan; }
const Graph& Executor::graph() const { return state_->given; }

const NamedValues<Tensor>& Executor::run(const NamedValues<Tensor>& inputs) {
  State& s = *state_;
  const double start = execution::now();
  const bool is_first = !s.is_planned_for(inputs);
  if (is_first) s.graph.check_inputs(inputs);
  try {
    if (is_first || !s.run_again(inputs)) s.run_first(inputs);
  } catch (...) {
    s.outputs.clear();
    s.forget();
    throw;
  }
  s.take_outputs();
  s.copy_steps();
  ++s.plan.runs;
  s.plan.seconds = execution::now() - start;
  return s.outputs;
}

}  // namespace sten
