// sten-run --generate: how a model of language continues a text.
#pragma once
#include "libsten/run/model/run_model.h"

namespace sten {

// Rows for the prompt and for what follows, with the time that each took, and the text of both. The
// keys and values of earlier characters are kept. Error (usage) where options exclude each other,
// where the model is not one that runs character by character or has no tokenizer beside it, where
// a character of the prompt has no id, and where there are fewer positions than characters.
Outcome generate_text(const RunOptions& options);

}  // namespace sten
