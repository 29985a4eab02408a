// SPDX-License-Identifier: Apache-2.0
// The data that calibration runs a model on.
#pragma once
#include "libsten/programs/plan/calibration_options.h"
#include "libsten/programs/run/model_source.h"

namespace sten {

using CalibrationInputs = std::vector<NamedValues<Tensor>>;  // of a graph, batch by batch

// The recipe of --calibrate for the model. Describes a model of weights alone by the recipe, too.
// Error (usage) without a description, and for a window of data that are no text.
Recipe calibration_recipe(const CalibrationOptions& options, ModelSource& source);

struct CalibrationBatches {
  CalibrationInputs inputs;
  std::vector<BatchPart> parts;  // with labels, if losses are measured
  Index rows = 0;

  // The first batches of the task, until there are that many rows, for the inputs of the graph; with
  // fewer rows, each row once.
  CalibrationBatches(const Task& task, const Graph& graph, Index samples, bool with_loss);
};

// Error if there are no batches, and if most tokens of a text are unknown to its tokenizer: their
// statistics say nothing.
void check_calibration_inputs(const Recipe& recipe, const CalibrationInputs& inputs,
                              const std::string& data);

}  // namespace sten
