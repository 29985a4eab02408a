// sten-run: runs, checks and times a model.
#pragma once
#include "libsten/programs/run/run_options.h"

namespace sten {

// Runs a model. The report has a row per output. Error (usage) for options that exclude each other;
// Error (input) with the file for inputs or weights that do not fit. A failed check is the
// outcome's failure, and no output is written.
Outcome run_model(const RunOptions& options);

}  // namespace sten
