// What a training run will meet, from shapes alone.
#pragma once
#include "libsten/train/task.h"

namespace sten {

// Error where a value does not fit its node, or a format of the recipe does not go with the shape of a
// value or gradient, with the place in the recipe: in a step, or where the model is measured. A value
// with a format is computed, from the first weights, where its operator has no shape rule.
void trace_training(const Task& task);

}  // namespace sten
