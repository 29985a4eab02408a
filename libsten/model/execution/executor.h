// SPDX-License-Identifier: Apache-2.0
// Executor: runs a graph for inference. The work is planned once for the shapes of the inputs, and
// the plan can be printed.
//
//   Executor run(g, weights);
//   const Tensor y = run.run({{"x", x}}).at("y");
//   for (const ExecutionStep& step : run.plan().steps) ...
#pragma once
#include <memory>

#include "libsten/model/execution/execution_plan.h"
#include "libsten/model/graph/graph.h"

namespace sten {

class Executor {
 public:
  // Error (usage) as Graph::run(), and for an invalid pattern. A fused_graph() runs faster.
  // Weights may be BF16; nodes in float32 widen them.
  Executor(Graph graph, NamedValues<Tensor> weights, const ExecutorOptions& options = {});
  Executor(Executor&&) noexcept;
  Executor& operator=(Executor&&) noexcept;
  ~Executor();

  // Returns the outputs by name, equal to Graph::run() up to rounding. Deterministic for every
  // number of threads and run. Callers may keep the values; the next run refills the map, and
  // reuses the memory of outputs that are not shared. Not thread-safe. Errors start with the name
  // of the node.
  const NamedValues<Tensor>& run(const NamedValues<Tensor>& inputs);
  // Returns the outputs of the last run, and forgets them: their memory is the caller's.
  NamedValues<Tensor> take_outputs();

  // Frees the plan and the values that are cached with the weights, such as packed forms. The next
  // run packs the weights again, in the forms for its shapes.
  void release_packed_weights();

  // Whether runs measure the time of each step: by default on the CPU only, where a step that takes
  // a few microseconds takes one more. On a device, runs then wait after each step, and otherwise
  // return before the device finishes.
  void time_steps(bool on);
  // The plan of the last run, without steps before the first one. On a device, live_bytes and
  // peak_bytes are 0 (unknown).
  const ExecutionPlan& plan() const;
  const Graph& graph() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sten
