// SPDX-License-Identifier: Apache-2.0
// Generation of the texts of some prompts at once.
#pragma once
#include <functional>

#include "libsten/data/tokenizer/generated_text.h"
#include "libsten/model/execution/generation.h"
#include "libsten/model/execution/sampling.h"
#include "libsten/programs/run/prompts.h"

namespace sten {

struct TextOptions {
  Index count = 0;  // maximum number of tokens per prompt
  SamplingOptions sampling{};
  std::vector<std::string> stops{};  // texts that end a text
  std::vector<std::int64_t> ends{};  // tokens that end a text
  std::uint64_t seed = 0;
  // Gets the text of the first prompt as it comes; may be empty.
  std::function<void(const std::string&)> print{};

  bool has_options() const { return sampling != SamplingOptions() || !stops.empty(); }
};

struct TextResult {
  std::string text;    // without the prompt
  Index tokens = 0;    // including a token that ends the text
  std::string finish;  // "length", "end" (token), "stop" (text) or "interrupted"
};

// Tokens and times of a phase.
struct TextPhase {
  const char* name;
  Index tokens = 0;
  double seconds = 0;
  double ms() const { return 1e3 * seconds / static_cast<double>(tokens); }
  double rate() const { return static_cast<double>(tokens) / seconds; }
};

class TextBatch {
 public:
  // `is_timed`: runs the first step of each phase before, with at most 128 tokens of a prompt, since
  // the first run also packs weights, which is not timed. The arguments must outlive this object.
  TextBatch(Generation& model, const Tokenizer& tokenizer, const TextOptions& options,
            bool is_timed);

  // Generates the texts of prompts, at most as many as the model has sequences. `first`: number of
  // the first prompt, which decides the random tokens together with the seed. `is_last`: no prompts
  // follow, so that the weights that are packed for prompts are released. Stops early after an
  // interrupt (NotedInterrupts).
  std::vector<TextResult> run(std::span<const Prompt> prompts, Index first, bool is_last);

  const TextPhase& prefill() const { return prefill_; }
  const TextPhase& decode() const { return decode_; }

 private:
  struct Sequence;
  std::span<const float> timed_run(const std::vector<NextTokens>& next, TextPhase& phase);
  void take(std::span<const float> logits, std::vector<Sequence*>& active);

  Generation& model_;
  const Tokenizer& tokenizer_;
  const TextOptions& options_;
  bool is_timed_;
  std::vector<bool> is_excluded_;  // tokens that are never generated
  TextPhase prefill_{"prefill"}, decode_{"decode"};
};

}  // namespace sten
