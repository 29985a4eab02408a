// SPDX-License-Identifier: Apache-2.0
// Calibration of weights during training.
#pragma once
#include <map>

#include "libsten/compute/calibrate/layer.h"
#include "libsten/training/task/task.h"

namespace sten {

using LayerOptions = std::map<std::string, CalibratedOptions, std::less<>>;

// Returns the new dense values of the weights in `how`. Runs the model with the dense `weights` on
// the batches of steps from `first` on, until at least `rows` rows; see prune_along().
NamedValues<Tensor> calibrated_weights(const Task& task, const NamedValues<Tensor>& weights,
                                       const LayerOptions& how, Index rows, Index first);

}  // namespace sten
