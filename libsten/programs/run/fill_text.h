// SPDX-License-Identifier: Apache-2.0
// sten-run --fill: predictions of a masked language model.
#pragma once
#include "libsten/programs/rewrite/rewrite.h"
#include "libsten/programs/run/model_source.h"

namespace sten {

// Fills each [MASK] of `masked`. The report has a row per mask and the filled text. Error
// (usage) if the text has no mask or exceeds the positions of the model, or the model has no
// tokenizer.
Outcome fill_text(const ModelOptions& options, const std::string& masked);

}  // namespace sten
