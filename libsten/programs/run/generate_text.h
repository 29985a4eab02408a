// SPDX-License-Identifier: Apache-2.0
// sten-run --generate: text generation with a causal language model.
#pragma once
#include "libsten/programs/rewrite/rewrite.h"
#include "libsten/programs/run/model_source.h"
#include "libsten/programs/run/prompts.h"
#include "libsten/programs/run/text_batch.h"

namespace sten {

struct GenerationOptions {
  PromptOptions prompt{};
  // count 0: no generation. Texts also end at the end tokens of the model; see end_tokens().
  TextOptions text{};
  Index batch = 0;  // prompts of a list that are generated together; 0: 8
};

// Generates texts after the prompts, with KV caches. With options.text.print, it prints prompt and
// text as they come (of a chat, the text alone), or a JSON line per prompt of a list; otherwise the
// report has them. The report has rows with the times of the prompts and of the generated tokens;
// of a list that is not printed, the prompts. Error (usage) as read_prompts() and
// SamplingOptions::check(), for a model that is not causal or has no tokenizer, and for more tokens
// than positions.
Outcome generate_text(const ModelOptions& of, const GenerationOptions& options);

}  // namespace sten
