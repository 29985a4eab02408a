// The data of a recipe, as a task takes them.
#pragma once
#include "libsten/train/task.h"

namespace sten {

// csv and arrays for a perceptron of these sizes: inputs "x" and "labels".
std::shared_ptr<TaskData> read_example_data(const Recipe& r);

// masked-text for a BERT: the inputs of bert(), with `selected` and `loss`. `vocabulary` and
// `positions` are how many ids and places the model has.
std::shared_ptr<TaskData> read_text_data(const Recipe& r, Index vocabulary, Index positions);

}  // namespace sten
