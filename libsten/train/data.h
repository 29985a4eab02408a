// The data of a recipe, as a task takes them.
#pragma once
#include "libsten/train/imported.h"
#include "libsten/train/task.h"

namespace sten {

// csv and arrays for a perceptron of these sizes: inputs "x" and "labels".
std::shared_ptr<TaskData> read_example_data(const Recipe& r);
// csv and arrays by the inputs of an ONNX model, each in the dtype and shape that the model takes.
std::shared_ptr<TaskData> read_example_data(const Recipe& r, const ImportedModel& m);

// masked-text for a BERT: the inputs of bert(), with `selected` and `loss`. `vocabulary` and
// `positions` are how many ids and places the model has.
std::shared_ptr<TaskData> read_text_data(const Recipe& r, Index vocabulary, Index positions);
// masked-text for an ONNX model of text: "input_ids" [B, T], and where it has them
// "attention_mask" of ones, "token_type_ids" of zeros and "position_ids" from 0 on.
std::shared_ptr<TaskData> read_text_data(const Recipe& r, const ImportedModel& m);

}  // namespace sten
