// SPDX-License-Identifier: Apache-2.0
// sten-prune --schedule: pruning in stages, with fine-tuning by a user command or the built-in
// trainer between stages. Iterative and layer-wise magnitude pruning: paper, section
// "Sparsification for training".
#pragma once
#include "libsten/programs/staged/staged_options.h"

namespace sten {

// Runs all stages. The report has a row per stage. Error if a stage fails; finished stages are
// kept.
Outcome prune_in_stages(const StagedOptions& options);

}  // namespace sten
