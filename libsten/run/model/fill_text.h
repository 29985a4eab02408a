// sten-run --fill: what a model of masked text puts into blanks.
#pragma once
#include "libsten/run/model/run_model.h"

namespace sten {

// A row for each [MASK] of options.fill, and the text without them. Error (usage) where there is
// none, and where the model has no tokenizer beside it.
Outcome fill_text(const RunOptions& options);

}  // namespace sten
