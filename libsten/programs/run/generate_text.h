// sten-run --generate: text generation with a causal language model.
#pragma once
#include "libsten/programs/rewrite/rewrite.h"
#include "libsten/programs/run/model_source.h"

namespace sten {

struct GenerationOptions {
  Index count = 0;                      // of tokens to generate
  std::optional<std::string> text{};    // the prompt
  std::optional<double> temperature{};  // of sampling; none: take the likeliest
  std::optional<Index> top{};           // number of likeliest tokens to sample from; none: all
  std::uint64_t seed = 0;               // of sampling
};

// Generates text after the prompt, with a KV cache. The report has rows with the times of the
// prompt and of the generated text, and both texts. Error (usage) for a missing prompt, for an
// invalid temperature, for a model that is not causal or has no tokenizer, for a character of the
// prompt without an id, and for more characters than positions.
Outcome generate_text(const ModelOptions& of, const GenerationOptions& options);

}  // namespace sten
