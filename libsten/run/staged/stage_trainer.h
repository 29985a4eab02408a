// What trains between the stages of sten-prune: a command of the user's, or the built-in trainer.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "libsten/run/rewrite.h"

namespace sten {

// Of a round, as they were measured or told.
struct StageLosses {
  std::optional<double> before, after;
};

// Of which round of which stage the files are; stage 0 is the input as it is.
struct StageRound {
  std::size_t stage = 0;
  Index round = 1;
  double sparsity = 0;  // of all tensors that the run prunes
};

// Checkpoints and masks by their paths; `out` and `metrics` are to be written, and are not there.
struct StageFiles {
  std::string in, masks, out, metrics;
};

class StageTrainer {
 public:
  virtual ~StageTrainer() = default;
  // As messages call it: "the command".
  virtual std::string name() const = 0;
  // What of it decides the result.
  virtual Options provenance() const = 0;
  // And the names of files that it reads.
  virtual Options files() const { return {}; }
  // Whether the loss of the input is measured before the first stage.
  virtual bool tells_losses() const = 0;

  // Error where it could not train such a model; nothing of it is loaded.
  virtual void check(const std::string& /*model*/) const {}
  // Loss of the input. Error where none can be had.
  virtual StageLosses measure(const StageFiles& files, const StageRound& round) const = 0;
  // Trains `in` and writes `out`. Error where that fails.
  virtual StageLosses train(const StageFiles& files, const StageRound& round) const = 0;
};

}  // namespace sten
