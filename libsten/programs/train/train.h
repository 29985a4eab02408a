// SPDX-License-Identifier: Apache-2.0
// sten-train: runs a recipe and writes an output directory.
#pragma once
#include <functional>

#include "libsten/core/base/device_spec.h"
#include "libsten/programs/rewrite/rewrite.h"
#include "libsten/training/comm/communicator.h"
#include "libsten/training/recipe/recipe.h"
#include "libsten/training/task/task.h"

namespace sten {

struct TrainOptions {
  std::string recipe;   // a file
  Overrides set;        // overrides of the recipe
  std::string out;      // see training/trainer/run_directory.h
  bool resume = false;  // continue the run in `out`
  bool force = false;   // replace the run in `out`
  bool show_progress = false;
  // CUDA without an index: ranks are assigned to devices in turn.
  DeviceSpec device;
  // Polled before each step: if true on any rank, all ranks save a checkpoint and return.
  std::function<bool()> stop{};
  std::function<void(const std::string&)> say{};  // called with progress messages
  // The ranks of the run, which all call train() with the same options; none: this process only.
  // Only rank 0 reads and writes `out`, and reports.
  std::shared_ptr<Communicator> ranks{};
};

// The report has a row per weight that the recipe makes sparse, and losses as facts. Empty on ranks
// other than 0.
struct TrainOutcome {
  Outcome outcome;
  std::optional<Index> stopped;  // the step, if stopped early
};

// Reads the files that describe the model of a run, apart from its weights. Returns bytes by name:
// the graph; config.json; the tokenizer's files; and other companion_names() beside the recipe's
// model.config and model.weights, and in a vocabulary that is a directory. Error if a file cannot
// be read.
std::vector<std::pair<std::string, std::string>> files_beside(const Task& task);

// The file of the recipe's model for messages; "" if the recipe describes the model.
std::string model_file(const TrainOptions& options);

// Trains a model. On the CPU, model and checkpoints have the same bytes for the same number of
// threads, instruction set, library of dense products and ranks, also after a resume. A run can be
// resumed on another device. During the run, all dense products of the process use one library: the
// recipe's, else that of the resumed run, else the fastest. Error with the step if the loss is not
// finite.
TrainOutcome train(const TrainOptions& options);

}  // namespace sten
