// Many inputs, one after the other or side by side.
#pragma once
#include <functional>

#include "libsten/run/prune.h"

namespace sten {

struct BatchOptions {
  std::vector<std::string> inputs;
  std::string out_dir;         // made if it is missing; outputs are named as their inputs
  bool keep_going = false;     // an input that fails does not end the run
  bool skip_existing = false;  // outputs that are there are left alone
  PruneOptions prune;          // for each of them; its input and output are not read
  // Told of each input that failed, as it happens; calls do not overlap.
  std::function<void(const Error&)> on_error;
};

// A row per input. The failure is that of inputs (exit code 1), else that of checks (3). Small
// inputs are pruned side by side, large ones one after the other with all threads.
Outcome prune_batch(const BatchOptions& options);

}  // namespace sten
