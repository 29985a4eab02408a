// sten-run --fill: predictions of a masked language model.
#pragma once
#include "libsten/programs/run/run_options.h"

namespace sten {

// Fills each [MASK] of options.fill. The report has a row per mask and the filled text. Error
// (usage) if the text has no mask, or the model has no tokenizer.
Outcome fill_text(const RunOptions& options);

}  // namespace sten
