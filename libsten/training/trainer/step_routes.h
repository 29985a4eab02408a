// SPDX-License-Identifier: Apache-2.0
// Dispatch of the operators of a training step.
#pragma once
#include "libsten/model/graph/routes.h"
#include "libsten/training/task/task.h"
#include "libsten/training/task/weight_stages.h"

namespace sten {

// Returns the implementation of each node of the training graph, by the layouts and formats of
// weights, values and gradients in the step. Error (usage) if an operator has no implementation.
std::vector<NodeRoute> step_routes(const Task& task, const std::vector<WeightStages>& stages,
                                   Index step);

}  // namespace sten
