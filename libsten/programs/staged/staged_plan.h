// SPDX-License-Identifier: Apache-2.0
// The plan of a run in stages, before the first stage.
#pragma once
#include "libsten/files/checkpoint/other_weights.h"
#include "libsten/programs/staged/schedule.h"
#include "libsten/programs/staged/staged_options.h"

namespace sten {

struct StagedPlan {
  const StagedOptions& options;
  const Schedule schedule;
  Spec to = {};                         // final layout
  std::vector<std::string> names = {};  // of selected tensors, in natural order
  Index elements = 0;                   // of selected tensors
  std::size_t stages = 0;
  LeftBehind left = {};         // in the input's directory
  std::string part_taken = {};  // part of a pipeline that was read
  std::string left_alone = {};  // in one line, and per tensor
  std::vector<std::string> skipped_rows = {};

  // The last stage with options of its own.
  std::size_t last_stage() const { return schedule.layerwise ? 1 : schedule.stages(); }
  // The options of stage k >= 1, without input and output. Stage 0 prunes nothing.
  PruneOptions stage_options(std::size_t k) const {
    PruneOptions p = options.prune;
    if (!schedule.structures.empty())
      p.tensors.structure = Spec::parse(schedule.structures[k ? k - 1 : 0]);
    else if (!schedule.layerwise)
      p.tensors.sparsity = schedule.sparsity[k ? k - 1 : 0];
    return p;
  }
};

// Options that apply a file of masks.
inline PruneOptions mask_options(const std::string& input, const std::string& masks) {
  PruneOptions p;
  p.input = input;
  p.files.mask = masks;
  return p;
}

// Parses the schedule, and checks the options before any file is read. Error (usage).
StagedPlan make_staged_plan(const StagedOptions& options);
// Reads which tensors the input has.
void list_stages(StagedPlan& plan);

}  // namespace sten
