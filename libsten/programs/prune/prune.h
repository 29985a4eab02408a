// SPDX-License-Identifier: Apache-2.0
// sten-prune: prunes the weights of a checkpoint.
#pragma once
#include "libsten/programs/plan/prune_request.h"

namespace sten {

// Prunes in one shot.
Outcome prune(const PruneRequest& request);

}  // namespace sten
