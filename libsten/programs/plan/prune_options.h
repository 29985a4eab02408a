// SPDX-License-Identifier: Apache-2.0
// Options of sten-prune.
#pragma once
#include "libsten/core/base/device_spec.h"
#include "libsten/programs/plan/calibration_options.h"
#include "libsten/programs/plan/tensor_options.h"
#include "libsten/programs/rewrite/rewrite.h"

namespace sten {

// Files besides the checkpoint; empty: none.
struct PruneFiles {
  std::string scores;    // for movement, l0 and gradient
  std::string rules;     // rules after those of the options
  std::string mask;      // masks to apply
  std::string mask_out;  // to be written: the masks of the run
};

// A stage of pruning in stages.
struct PruneStage {
  std::string masks_so_far;           // masks of chosen tensors that were pruned before
  std::string only;                   // the tensor to prune besides; empty: all
  std::string metadata_of;            // a checkpoint with metadata for keys that the input lacks
  std::optional<Options> provenance;  // of the output; empty: no step
};

struct PruneOptions {
  std::string input;
  OutputOptions output;
  Patterns patterns;
  TensorOptions tensors;
  CalibrationOptions calibration;
  PruneFiles files;
  std::vector<std::string> rules;    // PATTERN=SPEC, first match wins
  std::vector<std::string> reorder;  // FIRST=NEXT: permutes the rows of FIRST (reorder.h)
  std::optional<double> min_energy;  // a check on the total
  DeviceSpec device;
  bool show_progress = false;
  PruneStage stage;
};

}  // namespace sten
