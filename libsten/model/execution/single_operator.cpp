// SPDX-License-Identifier: Apache-2.0
// Node that runs by the dispatcher.
#include <chrono>

#include "libsten/compute/ops/attention/attention_call.h"
#include "libsten/core/base/cuda.h"
#include "libsten/core/tensor/low_floats.h"
#include "libsten/model/execution/fused_operator.h"
#include "libsten/model/graph/node_errors.h"

namespace sten::execution {
namespace {

// Operations of a product with the stored values of the weight.
double flops_of(const Node& n, std::span<const Tensor> in, const Tensor& out) {
  const Shape shape = out.shape();
  const auto elements = static_cast<double>(size_of(shape));
  if (elements == 0) return 0;
  if (n.op.text() == "linear" && in[1].values())
    return 2 * elements / static_cast<double>(shape.back()) *
           static_cast<double>(in[1].values()->size());
  if (n.op.text() != "attention") return 0;
  return AttentionProblem("attention", n.attributes, in[0].shape(), in[1].shape(), in[2].shape())
      .extents()
      .flops();
}

// Elapsed time for a device; now() for the CPU.
double time_on(Device device) {
  if (device == Device::cpu) return now();
  wait_for_cuda();
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class SingleOperator final : public FusedOperator {
 public:
  SingleOperator(const PlanContext& plan, std::size_t node)
      : plan_(plan),
        node_(plan.graph.nodes()[node]),
        arguments_(plan.graph.arguments(node)),
        value_(plan.value_of(node)),
        wide_(arguments_.size()) {
    for (std::size_t i = 0; i < arguments_.size(); ++i)
      is_weight_.push_back(plan.is_weight(arguments_[i]) && node_.op.text() == "linear");
    steps.push_back({{node_.name}, std::string(node_.op.text()), "", "", 0, 0, 0});
  }

  void run(Slots& slots) override {
    ExecutionStep& s = steps.front();
    const double start = slots.times_steps ? time_on(plan_.device) : 0;
    std::vector<Tensor> in;
    for (std::size_t i = 0; i < arguments_.size(); ++i) in.push_back(argument(slots, i));
    std::vector<std::string> log;
    if (s.why.empty()) Operators::log_plans(&log);
    Tensor y = call(in).to(plan_.device);  // without inputs, the result is on the CPU
    if (is_lookup() && plan_.is_weight(arguments_[0])) y = widened(y);
    slots[value_].tensor = std::move(y);
    Operators::log_plans(nullptr);
    s.seconds = slots.times_steps ? time_on(plan_.device) - start : 0;
    if (!s.why.empty()) return;
    s.why = log.empty() ? "-" : log.back();
    const Tensor& out = *slots[value_].tensor;
    s.shape = out.shape();
    s.flops = flops_of(node_, in, out);
    s.bytes = static_cast<double>(out.bytes());
    // A lookup reads only the indexed rows of a table.
    for (const Tensor& x : in) {
      s.bytes += static_cast<double>((is_lookup() && &x == in.data() ? out : x).bytes());
      if (x.layout() != Dense::name) s.layout = x.spec().str();
    }
    slots.note_tensor(value_);
  }

 private:
  // Of a bfloat16 table, the rows are widened.
  bool is_lookup() const { return node_.op.text() == "embedding" || node_.op.text() == "gather"; }
  // bfloat16 weights, meant for other fused operators, are widened once.
  const Tensor& argument(Slots& slots, std::size_t i) {
    const Tensor& x = slots.tensor(arguments_[i]);
    if (!is_weight_[i] || x.dtype() != DType::BF16) return x;
    if (!wide_[i]) wide_[i] = widened(x);
    return *wide_[i];
  }
  Tensor call(std::span<const Tensor> in) const {
    try {
      return with_node_name(
          node_.name, [&] { return apply(node_.op, in, node_.attributes, node_.formats.out); });
    } catch (...) {
      Operators::log_plans(nullptr);
      throw;
    }
  }

  const PlanContext& plan_;
  const Node& node_;
  std::vector<std::size_t> arguments_;
  std::size_t value_;
  std::vector<bool> is_weight_;
  std::vector<std::optional<Tensor>> wide_;
};

}  // namespace

std::unique_ptr<FusedOperator> single_operator(const PlanContext& plan, std::size_t node) {
  return std::make_unique<SingleOperator>(plan, node);
}

}  // namespace sten::execution
