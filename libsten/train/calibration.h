// Weights in training that are pruned by what goes into their layers.
#pragma once
#include <map>

#include "libsten/calibrate/layer.h"
#include "libsten/train/task.h"

namespace sten {

using LayerOptions = std::map<std::string, CalibratedOptions, std::less<>>;

// What the weights in `how` become, dense, where the model with `weights`, dense, computes as many
// batches of steps from `first` on as have at least so many rows: see prune_along().
NamedValues<Tensor> calibrated_weights(const Task& task, const NamedValues<Tensor>& weights,
                                       const LayerOptions& how, Index rows, Index first);

}  // namespace sten
