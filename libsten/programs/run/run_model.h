// SPDX-License-Identifier: Apache-2.0
// sten-run: runs, checks and times a model.
#pragma once
#include "libsten/programs/run/generate_text.h"
#include "libsten/programs/run/run_data.h"

namespace sten {

// A run fails that does not meet them.
struct RunChecks {
  std::optional<double> min_accuracy, max_loss, max_perplexity, max_difference, min_agreement;
  bool fail_if_slower = false;  // fail for weights slower than dense; see check_layouts()
};

struct RunOptions {
  ModelOptions model;
  DataOptions data;
  RunChecks checks;
  std::string against;               // another model to compare with
  std::vector<std::string> outputs;  // see OutputFiles
  bool force = false, show_progress = false;
  std::string fill;              // instead of a run on data: a text with [MASK] to fill in
  GenerationOptions generation;  // instead of a run on data, if its count is above 0
};

// Runs a model. The report has a row per output. Error (usage) for options that exclude each other;
// Error (input) with the file for inputs or weights that do not fit. A failed check is the
// outcome's failure, and no output is written.
Outcome run_model(const RunOptions& options);

}  // namespace sten
