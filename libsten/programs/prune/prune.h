// sten-prune: prunes the weights of a checkpoint.
#pragma once
#include "libsten/programs/plan/prune_options.h"

namespace sten {

// Prunes in one shot. Error (usage) for options that contradict each other.
Outcome prune(const PruneOptions& options);

}  // namespace sten
