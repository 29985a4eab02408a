// SPDX-License-Identifier: Apache-2.0
// --reorder in the model that --calibrate runs.
#pragma once
#include "libsten/programs/calibrated/model_weights.h"
#include "libsten/programs/plan/reorder.h"

namespace sten {

// Permutes the weights of the model; its outputs stay the same. Error (usage) if they change on the
// batch: an operator between two weights depends on the order of features. The reordering must
// outlive the model.
void reorder_model(ModelWeights& model, const Checkpoint& in, const Reordering& reordering,
                   const NamedValues<Tensor>& batch);

}  // namespace sten
