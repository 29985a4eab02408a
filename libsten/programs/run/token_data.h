// SPDX-License-Identifier: Apache-2.0
// Texts whose next tokens a causal language model predicts: windows of a text, for its perplexity,
// and multiple-choice questions, for the likelihoods of their choices.
#pragma once
#include "libsten/programs/run/run_batches.h"

namespace sten {

// Whether the options ask for such data: a window or a stride, or questions (.jsonl) for a causal
// model.
bool is_token_data(const ModelSource& source, const DataOptions& options);

// Windows: each has up to options.window tokens (default: the positions of the model), starts
// options.stride tokens (default: window) after the previous one, and has labels for the tokens
// that no earlier window has, except for its own first one: the perplexity of Hugging Face's guide.
// Without both options, windows predict `window` tokens each, and all but the first of the text.
// Questions: a row per choice, with labels for the tokens of the choice. Without options.batch, a
// batch has about 1024 tokens, whose logits are in memory. Error (usage) for options out of range,
// a masked language model, and a model without a tokenizer; Error (input) with the line for
// questions that are not {"prompt", "choices", "answer"} or exceed the positions of the model.
std::unique_ptr<RunData> token_data(const ModelSource& source, const DataOptions& options,
                                    Index window);

}  // namespace sten
