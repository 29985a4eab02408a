// SPDX-License-Identifier: Apache-2.0
// Fused operator: nodes that run as one part of a plan.
#pragma once
#include "libsten/model/execution/execution_plan.h"
#include "libsten/model/execution/slots.h"
#include "libsten/model/graph/graph.h"

namespace sten::execution {

// Thrown if a tensor differs from the plan's: its shape depends on values.
struct PlanChanged {};

class FusedOperator {
 public:
  virtual ~FusedOperator() = default;
  virtual void run(Slots& slots) = 0;

  // Memory of internal values, over all threads.
  virtual Index working_bytes() const { return 0; }

  std::vector<ExecutionStep> steps{};   // with seconds of the last run
  std::vector<std::size_t> released{};  // values without later uses
  std::vector<std::size_t> stored{};    // values whose tensors of the last run are overwritten
};

// The inputs of planning.
struct PlanContext {
  const Graph& graph;
  std::vector<bool> low{};  // per node: runs in bfloat16
  Device device = Device::cpu;

  std::size_t value_of(std::size_t node) const { return graph.first_node() + node; }
  bool is_weight(std::size_t value) const { return graph.is_stored(value); }
  // Whether the graph, or a node from `from` on, needs the value as a tensor, or in panels.
  bool wants_tensor(std::size_t value, std::size_t from) const;
  bool wants_panels(std::size_t value, std::size_t from) const;
  // Whether a sum reads the value.
  bool is_summed(std::size_t value, std::size_t from) const;
  // Whether all nodes that read the value in panels take bfloat16: not sums and norms, which keep
  // what layers add up in float32.
  bool wants_interleaved(std::size_t value, std::size_t from) const;
};

// Whether so many tokens run in panels, or as a single token. Between a narrow panel and
// least_tokens, panels are too empty in float32.
inline constexpr Index least_tokens = 32;
inline bool fits_panels(Index tokens) {
  return tokens >= least_tokens || (tokens <= narrow_panel_width && tokens > 0);
}
inline bool fits_panels(Index tokens, bool low) { return low ? tokens > 0 : fits_panels(tokens); }

// Whether a node takes a range of the features of its input.
bool is_feature_slice(const Node& n);

double now();  // seconds; CPU time if this is the only thread
// The same if the run times its steps, otherwise 0.
inline double step_time(const Slots& slots) { return slots.times_steps ? now() : 0; }

std::unique_ptr<FusedOperator> single_operator(const PlanContext& plan, std::size_t node);
// nullptr if the node's operator or its known values do not permit.
std::unique_ptr<FusedOperator> fused_attention(const PlanContext& plan, std::size_t node,
                                               const Slots& slots);
// The same with KV caches, which must outlive the result; Error (usage) for attention whose keys
// cannot be cached.
std::unique_ptr<FusedOperator> fused_cached_attention(const PlanContext& plan,
                                                      KeyValueCaches& caches, std::size_t node,
                                                      const Slots& slots);
// The same for a mixture of experts.
std::unique_ptr<FusedOperator> fused_experts(const PlanContext& plan, std::size_t node,
                                             Slots& slots);
// A chain of the token-wise nodes from `node` on; `count` is set to their number.
std::unique_ptr<FusedOperator> fused_chain(const PlanContext& plan, std::size_t node, Slots& slots,
                                           std::size_t& count);

}  // namespace sten::execution
