// SPDX-License-Identifier: Apache-2.0
// sten-train --dry-run: the report of what training would do.
#pragma once
#include "libsten/programs/rewrite/rewrite.h"
#include "libsten/programs/train/train.h"

namespace sten {

// Reads the recipe, its data and its model, and reports the errors of train(). The report has a row
// per weight that becomes sparse; steps, parameters and an estimate of memory are facts. Trains and
// writes nothing.
Outcome preview_training(const TrainOptions& options);

}  // namespace sten
