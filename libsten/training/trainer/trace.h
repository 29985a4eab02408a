// SPDX-License-Identifier: Apache-2.0
// Dry run of training by shapes.
#pragma once
#include "libsten/training/task/task.h"

namespace sten {

// Checks all steps and the evaluation. Error with the recipe's key if a value does not fit its
// node, or a format does not fit the shape of a value or gradient. A value with a format whose
// operator has no shape rule is computed from the initial weights.
void trace_training(const Task& task);

}  // namespace sten
