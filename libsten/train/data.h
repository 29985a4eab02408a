// The data of a recipe, as a task takes them.
#pragma once
#include "libsten/train/imported.h"
#include "libsten/train/task.h"

namespace sten {

// Any rows for a perceptron of the recipe's sizes: inputs "x" [B, features] and "labels".
std::shared_ptr<TaskData> read_example_data(const Recipe& r);
// Images for a model that takes so many channels and tells so many classes apart: inputs "x"
// [B, H, W, channels] and "labels". Arrays are [N, H, W, C], or [N, H, W] of one channel.
std::shared_ptr<TaskData> read_image_data(const Recipe& r, Index channels, Index classes);
// Rows by the inputs of an ONNX model, each in the dtype and shape that the model takes.
std::shared_ptr<TaskData> read_example_data(const Recipe& r, const ImportedModel& m);

// masked-text for a BERT: the inputs of bert(), with `selected` and `loss`. `vocabulary` and
// `positions` are how many ids and places the model has.
std::shared_ptr<TaskData> read_text_data(const Recipe& r, Index vocabulary, Index positions);
// labelled-text or labelled-words for a BERT: the inputs of bert(), with `mask` and `loss`, and what
// labels are called, by their numbers. `labels` are those of the model; where it has none, they are
// those of the data: integers from 0 up unchanged, else in the order of their bytes.
struct LabelledData {
  std::shared_ptr<TaskData> data;
  std::vector<std::string> labels;
};
LabelledData read_labelled_data(const Recipe& r, Index vocabulary, Index positions,
                                const std::vector<std::string>& labels);
// text for a GPT: the inputs of gpt(), with `loss`. `vocabulary` and `positions` as above.
std::shared_ptr<TaskData> read_next_token_data(const Recipe& r, Index vocabulary, Index positions);
// masked-text for an ONNX model of text: "input_ids" [B, T], and where it has them
// "attention_mask" of ones, "token_type_ids" of zeros and "position_ids" from 0 on.
std::shared_ptr<TaskData> read_text_data(const Recipe& r, const ImportedModel& m);

}  // namespace sten
