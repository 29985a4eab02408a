// A part of a plan: some nodes that run together.
#pragma once
#include "libsten/graph/execution/slots.h"
#include "libsten/graph/executor.h"

namespace sten::execution {

// What a unit throws where a tensor differs from that of the plan: a shape that depends on
// numbers.
struct PlanChanged {};

class FusedOperator {
 public:
  virtual ~FusedOperator() = default;
  virtual void run(Slots& slots) = 0;

  // Of values that nobody else sees, on all threads.
  virtual Index working_bytes() const { return 0; }

  std::vector<ExecutionStep> steps{};   // their seconds are those of the last run
  std::vector<std::size_t> released{};  // values that no later unit needs
  std::vector<std::size_t> stored{};    // those whose tensors it writes, over those of the last run
};

// What a plan is made from.
struct PlanContext {
  const Graph& graph;
  std::vector<std::vector<std::size_t>> arguments;  // of each node, as numbers of values
  std::vector<std::size_t> uses;  // of each value by nodes; an output has one more
  std::size_t first_node = 0;     // the number of the first node's value
  std::size_t first_weight = 0;
  std::vector<std::size_t> outputs{};
  std::vector<bool> low{};  // of each node, whether it is to run in bfloat16
  Device device = Device::cpu;
  bool times_steps = true;

  std::size_t value_of(std::size_t node) const { return first_node + node; }
  bool is_weight(std::size_t value) const { return value >= first_weight && value < first_node; }
  // Whether a node from `from` on, or the graph, takes the value as a tensor, or in panels.
  bool wants_tensor(std::size_t value, std::size_t from) const;
  bool wants_panels(std::size_t value, std::size_t from) const;
  // Whether those that take it in panels all run in bfloat16.
  bool wants_interleaved(std::size_t value, std::size_t from) const;
};

// Between a narrow panel and so many tokens panels are too empty to be worth it, and one token is
// what products with a vector are for.
inline constexpr Index least_tokens = 32;
inline bool fill_panels(Index tokens) {
  return tokens >= least_tokens || (tokens <= narrow_panel_width && tokens > 1);
}
// In bfloat16 all values are panels.
inline bool fill_panels(Index tokens, bool low) { return low ? tokens > 0 : fill_panels(tokens); }

double now();  // seconds; of this thread if it is the only one

std::unique_ptr<FusedOperator> single_operator(const PlanContext& plan, std::size_t node);
// nullptr where the node cannot be one, because of its operator or its values, which are there.
std::unique_ptr<FusedOperator> fused_attention(const PlanContext& plan, std::size_t node,
                                               const Slots& slots);
// The same by caches; Error (usage) for attention whose keys cannot be kept. The caches stay.
std::unique_ptr<FusedOperator> fused_cached_attention(const PlanContext& plan,
                                                      KeyValueCaches& caches, std::size_t node,
                                                      const Slots& slots);
// Of as many nodes from there on as work on tokens each by itself; `count` gets their number.
std::unique_ptr<FusedOperator> fused_chain(const PlanContext& plan, std::size_t node, Slots& slots,
                                           std::size_t& count);

}  // namespace sten::execution
