// sten-train --dry-run: what a recipe comes to.
#pragma once
#include "libsten/run/rewrite.h"
#include "libsten/run/train.h"

namespace sten {

// One row for each weight that becomes sparse; steps, parameters and an estimate of memory as
// facts. Reads the recipe, its data and its model, so that what train() would refuse is refused,
// and computes and writes nothing.
Outcome preview_training(const TrainOptions& options);

}  // namespace sten
