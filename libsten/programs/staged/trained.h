// SPDX-License-Identifier: Apache-2.0
// Check of the model that a fine-tuning command wrote.
#pragma once
#include "libsten/files/checkpoint/checkpoint.h"

namespace sten {

struct TrainedChange {
  Index violations = 0;  // pruned positions that are no longer 0
  Index tensors = 0;     // with violations
};

// Compares the trained checkpoint with the given one. Error with the names of tensors that are
// missing, have another shape or dtype, or changed from finite values to NaN or infinity. Warns
// about new tensors. `masks`: as sten-prune writes them.
TrainedChange check_trained(const Checkpoint& given, const Checkpoint& trained,
                            const Checkpoint& masks);

}  // namespace sten
