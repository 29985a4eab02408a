// SPDX-License-Identifier: Apache-2.0
// Text generation: runs a causal language model token by token, with a KV cache, on one sequence or
// on a batch of sequences of different lengths.
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

// Tokens that follow the earlier ones of a sequence.
struct NextTokens {
  Index sequence;
  std::span<const std::int64_t> ids;
};

class Generation {
 public:
  // The first output is logits, [1, T, ids], or [1, 1, ids] of the last token. `most`: limit of all
  // tokens of a sequence; the first run allocates the caches for `sequences` of them. Error (usage)
  // as check_generates(), and for fewer positions than `most`. `precision`: as in ExecutorOptions;
  // attention in bfloat16 stores keys and values in bfloat16, and computes in float32.
  Generation(Graph graph, NamedValues<Tensor> weights, Index most,
             std::vector<PrecisionRule> precision = {}, Index sequences = 1);

  // Runs the next tokens of distinct sequences in one pass, with one product per layer for all of
  // them. Returns the logits of the last token of each, [next.size(), ids], valid until the next
  // call. Error (usage) for more tokens than `most`. An Error leaves the tokens unchanged.
  std::span<const float> run_batch(std::span<const NextTokens> next);
  // The same for the first sequence alone.
  std::span<const float> run(std::span<const std::int64_t> ids);

  // As Executor::release_packed_weights(): after the last prompt, for less memory.
  void release_packed_weights() { executor_.release_packed_weights(); }

  // Removes all tokens of a sequence but the first `tokens`. Error (usage) if there are fewer.
  void rewind(Index tokens, Index sequence = 0);

  Index tokens(Index sequence = 0) const { return tokens_.at(sequence); }
  Index most() const { return caches_->tokens; }
  // Size of the KV caches.
  Index cache_bytes() const;
  // The plan of the last run, and whether runs measure the time of its steps (Executor).
  const ExecutionPlan& plan() const { return executor_.plan(); }
  void time_steps(bool on) { executor_.time_steps(on); }

 private:
  std::unique_ptr<KeyValueCaches> caches_;
  Executor executor_;
  std::string logits_;
  bool has_positions_;
  std::vector<Index> tokens_;  // per sequence
};

}  // namespace sten
