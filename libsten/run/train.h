// sten-train: what a recipe says, in a directory that keeps the run.
#pragma once
#include <functional>

#include "libsten/comm/communicator.h"
#include "libsten/recipe/recipe.h"
#include "libsten/run/rewrite.h"
#include "libsten/train/task.h"

namespace sten {

struct TrainOptions {
  std::string recipe;   // a file
  Overrides set;        // in the recipe
  std::string out;      // see train/run_directory.h
  bool resume = false;  // go on with the run that is there
  bool force = false;   // begin anew where one is
  bool show_progress = false;
  // cpu, cuda, cuda:N; several ranks take devices in turn.
  std::string device = "cpu";
  // Asked before each step: save a checkpoint and return. All ranks do where one of them shall.
  std::function<bool()> stop{};
  std::function<void(const std::string&)> say{};  // a line for people who wait
  // That train together, each calling this with the same options; none: this process alone. Rank 0
  // alone reads and writes `out`, shows progress and says something.
  std::shared_ptr<Communicator> ranks{};
};

// One row for each weight that the recipe makes sparse; the losses as facts. Empty on other ranks
// than 0.
struct TrainOutcome {
  Outcome outcome;
  std::optional<Index> stopped;  // after so many steps
};

// Files that describe the model beside the weights that a run leaves, with their bytes by name: its
// graph; its config.json, the files of its tokenizer, and the other companion_names() beside the
// recipe's model.config and model.weights. Companions of the tokenizer are those of a vocabulary that
// is a directory. Error where one cannot be read.
std::vector<std::pair<std::string, std::string>> files_beside(const Task& task);

// The file of the recipe's model as messages have it; "" where the recipe describes the model.
std::string model_file(const TrainOptions& options);

// Writes the same bytes of model and checkpoints at the same number of threads, instruction set and
// library of dense products, and the same ranks, stopped and resumed or not, on the CPU. A run may begin on
// one device and go on on another one. While it runs, one library computes all
// dense products of the process: the recipe's, else that of the resumed run, else the fastest.
// Error with the step where the loss stops being a number.
TrainOutcome train(const TrainOptions& options);

}  // namespace sten
