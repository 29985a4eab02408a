// Runs a graph for inference, again and again: what it does is planned once for the shapes of the
// inputs, and can be printed.
//
//   Executor run(g, weights);
//   const Tensor y = run.run({{"x", x}}).at("y");
//   for (const ExecutionStep& step : run.plan().steps) ...
#pragma once
#include <memory>

#include "libsten/graph/graph.h"
#include "libsten/product/key_value_cache.h"

namespace sten {

// What activations are stored in, and factors of products; sums are float32.
enum class Precision { float32, bf16 };
const char* name_of(Precision p);  // "float32", "bf16"

// Of the nodes whose names it matches (base/name_pattern.h).
struct PrecisionRule {
  std::string nodes;
  Precision precision;
};

// One step of a plan, and what it took in the last run.
struct ExecutionStep {
  std::vector<std::string> nodes;  // that it computes, in the order in which they run
  std::string runs;                // "linear + gelu": the operators that it stands for
  std::string layout;              // of its weight, or how activations lie; empty: dense
  std::string why;                 // one line
  double seconds = 0;              // computed on one thread, else passed; see time_steps()
  double flops = 0;                // of products, those with stored values alone
  double bytes = 0;                // of what it reads and writes
  Shape shape{};                   // of its result; empty: it makes no value of the graph
  Precision precision = Precision::float32;
};

struct ExecutionPlan {
  std::vector<ExecutionStep> steps;
  double seconds = 0;      // of the last run, all of it
  Index runs = 0;          // since it was made; the first one also packs weights
  Index weight_bytes = 0;  // of weights and constants, without what products make of them
  Index live_bytes = 0;    // of values: the most that are needed at one time
  Index peak_bytes = 0;    // of values: the most that were held at one time
};

struct ExecutorOptions {
  // Without it each operator runs by itself, and the result has the bits of Graph::run().
  bool fuse = true;
  // Where attention takes the keys and values of earlier tokens from, and puts those of the tokens
  // that run (generation.h); it outlives the executor. nullptr: no earlier tokens.
  KeyValueCaches* caches = nullptr;
  // The first rule that matches a node counts; others are float32. In bfloat16 run linear layers,
  // layer norms, sums, elementwise functions, sums of embeddings and attention; what else there is
  // runs in float32, and the plan says so. Without `fuse` all does.
  std::vector<PrecisionRule> precision{};
  // Where it runs: weights are moved there once, constants with each plan, and inputs that are
  // elsewhere in each run. On a device each operator runs by itself, in float32, without caches.
  Device device = Device::cpu;
};

class Executor {
 public:
  // Error (usage) as of Graph::run(), and for a broken pattern. Of an inference_graph() more can be
  // fused. Weights may be BF16; what does not run in bfloat16 has them in float32.
  Executor(Graph graph, NamedValues<Tensor> weights, const ExecutorOptions& options = {});
  Executor(Executor&&) noexcept;
  Executor& operator=(Executor&&) noexcept;
  ~Executor();

  // The outputs, each by its name, as Graph::run() gives them but for rounding; bits depend neither
  // on the number of threads nor on the run. The values are the caller's to keep; the map is what
  // the next run fills again, and the memory of outputs that nobody else holds is used again then.
  // One run at a time. The message of what an operator throws begins with the node's name.
  const NamedValues<Tensor>& run(const NamedValues<Tensor>& inputs);

  // On a device, whether runs wait for it after each step, and measure how long that took; without,
  // which is the default, steps have no seconds, and a run returns before the device is done. On
  // the CPU steps always have them.
  void time_steps(bool on);
  // Of the last run; before the first one it has no steps. On a device live_bytes and peak_bytes are
  // 0, which is not known.
  const ExecutionPlan& plan() const;
  const Graph& graph() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sten
