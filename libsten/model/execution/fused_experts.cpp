// SPDX-License-Identifier: Apache-2.0
// Mixture of experts whose experts run as graphs of their own, on the gathered tokens.
#include <algorithm>

#include "libsten/compute/ops/products/mixture_of_experts.h"
#include "libsten/model/execution/executor.h"
#include "libsten/model/execution/fused_operator.h"

namespace sten::execution {
namespace {

// The graph of an expert: "y" of "x".
Graph expert_graph(std::span<const Tensor> weights, Name activation) {
  GraphParts parts;
  parts.inputs = {"x"};
  parts.outputs = {"y"};
  const char* names[] = {"gate", "up", "down"};
  for (std::size_t i = 0; i < weights_per_expert; ++i)
    parts.weights.push_back({names[i], weights[i].shape()});
  parts.nodes = {{"x.gate", "linear", {"x", "gate"}},
                 {"act", activation, {"x.gate"}},
                 {"x.up", "linear", {"x", "up"}},
                 {"gated", "mul", {"act", "x.up"}},
                 {"y", "linear", {"gated", "down"}}};
  return Graph(std::move(parts));
}

class FusedExperts final : public FusedOperator {
 public:
  FusedExperts(const PlanContext& plan, std::size_t node, std::vector<Tensor> weights, Shape shape,
               Index experts)
      : arguments_(plan.graph.arguments(node)),
        value_(plan.value_of(node)),
        shape_(std::move(shape)),
        attributes_("mixture-of-experts", plan.graph.nodes()[node].attributes, experts),
        weights_(std::move(weights)),
        executors_(experts) {
    if (plan.low[node]) options_.precision = {{"*", Precision::bf16}};
  }

  void run(Slots& slots) override {
    ExecutionStep& s = steps.front();
    const double start = step_time(slots);
    const Tensor& x = slots.tensor(arguments_[0]);
    const Tensor& logits = slots.tensor(arguments_[1]);
    if (x.shape() != shape_) throw PlanChanged();
    const ExpertRouting<float> routing(floats(logits), tokens_of(shape_), std::ssize(executors_),
                                       attributes_.top_k, attributes_.normalizes);
    Dense y = Dense::zeros(DType::F32, shape_);
    float* const to = y.values.mutate<float>().data();
    for (std::size_t e = 0; e < executors_.size(); ++e)
      if (!routing.load[e].empty())
        add_weighted(routing.load[e], routing, shape_.back(),
                     floats(expert(e, routing.load[e], floats(x))), to);
    slots[value_].tensor = std::move(y);
    slots.note_tensor(value_);
    s.seconds = step_time(slots) - start;
  }

  Index working_bytes() const override {
    Index most = 0;
    for (const auto& e : executors_)
      if (e) most = std::max(most, e->plan().peak_bytes);
    return most;
  }

 private:
  static const float* floats(const Tensor& x) { return x.as<Dense>().values.as<float>().data(); }

  // The result of an expert, whose executor is made for its first tokens.
  const Tensor& expert(std::size_t e, const std::vector<RoutedToken>& load, const float* x) {
    const std::span<const Tensor> w(weights_.data() + e * weights_per_expert, weights_per_expert);
    if (!executors_[e])
      executors_[e] = std::make_unique<Executor>(
          expert_graph(w, Name(attributes_.activation->name)),
          NamedValues<Tensor>{{"gate", w[0]}, {"up", w[1]}, {"down", w[2]}}, options_);
    const Shape shape{std::ssize(load), shape_.back()};
    Dense rows{shape, Values::uninitialized(DType::F32, size_of(shape))};
    gather_tokens(load, shape.back(), x, rows.values.mutate<float>().data());
    return executors_[e]->run({{"x", std::move(rows)}}).at("y");
  }

  std::vector<std::size_t> arguments_;
  std::size_t value_;
  Shape shape_;
  MixtureAttributes attributes_;
  std::vector<Tensor> weights_;
  ExecutorOptions options_;
  std::vector<std::unique_ptr<Executor>> executors_;
};

}  // namespace

std::unique_ptr<FusedOperator> fused_experts(const PlanContext& plan, std::size_t node,
                                             Slots& slots) {
  const Node& n = plan.graph.nodes()[node];
  const std::vector<std::size_t>& in = plan.graph.arguments(node);
  if (n.op.text() != "mixture-of-experts" || !n.formats.out.is_dense()) return nullptr;
  for (std::size_t i = 0; i < 2; ++i) {
    const Tensor& t = slots.tensor(in[i]);
    if (!t.is<Dense>() || t.dtype() != DType::F32 || t.shape().empty()) return nullptr;
  }
  const Shape shape = slots.tensor(in[0]).shape(), logits = slots.tensor(in[1]).shape();
  const Index experts = logits.back();
  if (std::ssize(in) != Index{first_expert_input} + experts * Index{weights_per_expert} ||
      tokens_of(shape) != tokens_of(logits))
    return nullptr;
  double stored = 0;
  std::string layout;
  std::vector<Tensor> weights;
  for (std::size_t i = first_expert_input; i < in.size(); ++i) {
    if (!plan.is_weight(in[i])) return nullptr;
    const Tensor& w = weights.emplace_back(*slots[in[i]].tensor);
    stored += static_cast<double>(w.values() ? w.values()->size() : 0);
    if (w.layout() != Dense::name) layout = w.spec().str();
  }
  for (Index e = 0; e < experts; ++e)
    if (!expert_misfit(e, {&weights[e * weights_per_expert], weights_per_expert}, shape.back())
             .empty())
      return nullptr;
  auto fused = std::make_unique<FusedExperts>(plan, node, std::move(weights), shape, experts);
  const Index top_k = n.attributes.integer("top_k", 1);
  ExecutionStep step{{n.name}, std::string(n.op.text()), layout, "", 0, 0, 0};
  step.why = fmt::format("the tokens of each expert are gathered, {} of {} experts per token",
                         top_k, experts);
  step.precision = plan.low[node] ? Precision::bf16 : Precision::float32;
  step.flops =
      2 * static_cast<double>(tokens_of(shape) * top_k) * stored / static_cast<double>(experts);
  step.shape = shape;
  fused->steps.push_back(std::move(step));
  return fused;
}

}  // namespace sten::execution
