// Runs a causal model of language token by token: what attention keeps of earlier tokens is not
// computed again.
//
//   Generation model(gpt(config, {.last = true}), weights, prompt.size() + 100);
//   std::span<const float> logits = model.run(prompt);
//   logits = model.run({best_of(logits)});
#pragma once
#include <span>

#include "libsten/graph/executor.h"

namespace sten {

// Error (usage) that names the node where tokens of the graph meet elsewhere than in causal
// attention without a mask, or the input that is neither "input_ids" [B, T] nor "position_ids" [T]:
// such a graph cannot be run token by token.
void check_generates(const Graph& g);
// How many positions the tables have that "position_ids" look up; none without such tables.
std::optional<Index> positions_of(const Graph& g);

class Generation {
 public:
  // The first output has logits, [1, T, ids], or [1, 1, ids] of the last token. `most` is the number
  // of tokens that there can be in all; keys and values get memory for so many when the first ones
  // run. Error (usage) as from check_generates(), and for fewer positions than `most`.
  // `precision`: as ExecutorOptions has it; attention is float32 in any case.
  Generation(Graph graph, NamedValues<Tensor> weights, Index most,
             std::vector<PrecisionRule> precision = {});

  // The logits of the last of these tokens, which come after all those of earlier calls; they stay
  // until the next call. Error (usage) for more tokens than `most`. After an error the
  // tokens are those of before.
  std::span<const float> run(std::span<const std::int64_t> ids);

  // Forgets all tokens but the first ones. Error (usage) for fewer tokens.
  void rewind(Index tokens);

  Index tokens() const { return caches_->first; }
  Index most() const { return caches_->tokens; }
  // What keys and values take.
  Index cache_bytes() const;
  // Of the last run.
  const ExecutionPlan& plan() const { return executor_.plan(); }

 private:
  std::unique_ptr<KeyValueCaches> caches_;
  Executor executor_;
  std::string logits_;
  bool has_positions_;
};

}  // namespace sten
