// SPDX-License-Identifier: Apache-2.0
// The data of a recipe as batches of a task.
#pragma once
#include "libsten/training/task/imported.h"
#include "libsten/training/task/task_data.h"

namespace sten {

// Rows for a perceptron of the recipe's sizes: inputs "x" [B, features] and "labels".
std::shared_ptr<TaskData> read_example_data(const Recipe& r);
// Images for a model with `channels` and `classes`: inputs "x" [B, H, W, channels] and "labels".
// Arrays are [N, H, W, C], or [N, H, W] of one channel.
std::shared_ptr<TaskData> read_image_data(const Recipe& r, Index channels, Index classes);
// Rows for the inputs of an ONNX model, in the dtype and shape of each input.
std::shared_ptr<TaskData> read_example_data(const Recipe& r, const ImportedModel& m);

// masked-text for a BERT: the inputs of bert(), with `selected` and `loss`. `vocabulary` and
// `positions`: the numbers of ids and positions of the model.
std::shared_ptr<TaskData> read_text_data(const Recipe& r, Index vocabulary, Index positions);
// labelled-text or labelled-words for a BERT: the inputs of bert(), with `mask` and `loss`, and the
// names of labels by index. `labels`: the model's names; if empty, the names in the data: integers
// from 0 in numeric order, otherwise in byte order.
struct LabelledData {
  std::shared_ptr<TaskData> data;
  std::vector<std::string> labels;
};
LabelledData read_labelled_data(const Recipe& r, Index vocabulary, Index positions,
                                const std::vector<std::string>& labels);
// text for a decoder: the inputs of gpt(), with `loss`. `vocabulary` and `positions` as above.
std::shared_ptr<TaskData> read_next_token_data(const Recipe& r, Index vocabulary, Index positions);
// masked-text for an ONNX language model: "input_ids" [B, T] and, if the model has them,
// "attention_mask" of ones, "token_type_ids" of zeros and "position_ids" from 0.
std::shared_ptr<TaskData> read_text_data(const Recipe& r, const ImportedModel& m);

}  // namespace sten
