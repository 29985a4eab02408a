// Text generation: runs a causal language model token by token, with a KV cache.
//
//   Generation model(gpt(config, {.last = true}), weights, prompt.size() + 100);
//   std::span<const float> logits = model.run(prompt);
//   logits = model.run({best_of(logits)});
#pragma once
#include <span>

#include "libsten/model/execution/executor.h"

namespace sten {

// Error (usage) with the name of a node that combines tokens other than by causal attention without
// a mask, or of an input other than "input_ids" [B, T] and "position_ids" [T]: the graph cannot run
// token by token.
void check_generates(const Graph& g);
// The rows of the tables that "position_ids" index; none without such tables.
std::optional<Index> positions_of(const Graph& g);

class Generation {
 public:
  // The first output is logits, [1, T, ids], or [1, 1, ids] of the last token. `most`: limit of all
  // tokens; the first run allocates the caches for it. Error (usage) as check_generates(), and for
  // fewer positions than `most`. `precision`: as in ExecutorOptions; attention is always float32.
  Generation(Graph graph, NamedValues<Tensor> weights, Index most,
             std::vector<PrecisionRule> precision = {});

  // Runs tokens that follow those of earlier calls. Returns the logits of the last one, valid until
  // the next call. Error (usage) for more tokens than `most`. An Error leaves the tokens unchanged.
  std::span<const float> run(std::span<const std::int64_t> ids);

  // Removes all tokens but the first `tokens`. Error (usage) if there are fewer.
  void rewind(Index tokens);

  Index tokens() const { return caches_->first; }
  Index most() const { return caches_->tokens; }
  // Size of the KV caches.
  Index cache_bytes() const;
  // The plan of the last run.
  const ExecutionPlan& plan() const { return executor_.plan(); }

 private:
  std::unique_ptr<KeyValueCaches> caches_;
  Executor executor_;
  std::string logits_;
  bool has_positions_;
};

}  // namespace sten
