// sten-run --generate: text generation with a causal language model.
#pragma once
#include "libsten/programs/run/run_options.h"

namespace sten {

// Generates text after the prompt, with a KV cache. The report has rows with the times of the
// prompt and of the generated text, and both texts. Error (usage) for options that exclude each
// other, for a model that is not causal or has no tokenizer, for a character of the prompt without
// an id, and for more characters than positions.
Outcome generate_text(const RunOptions& options);

}  // namespace sten
