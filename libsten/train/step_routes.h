// Which implementations a training step takes.
#pragma once
#include "libsten/graph/routes.h"
#include "libsten/train/task.h"
#include "libsten/train/weight_stages.h"

namespace sten {

// Of the nodes of the training graph in that step, by the layouts and formats that weights, values
// and gradients have then. Error (usage) where an operator has no implementation.
std::vector<NodeRoute> step_routes(const Task& task, const std::vector<WeightStages>& stages,
                                   Index step);

}  // namespace sten
