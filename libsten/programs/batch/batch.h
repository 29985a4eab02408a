// SPDX-License-Identifier: Apache-2.0
// Programs on a batch of inputs, in sequence or in parallel.
#pragma once
#include <functional>

#include "libsten/programs/convert/convert.h"
#include "libsten/programs/energy/energy.h"
#include "libsten/programs/prune/prune.h"

namespace sten {

// Which outputs of an earlier run are not written again: none; outputs of the same input and
// options; or all files that exist.
enum class SkipExisting { no, same, any };

struct ManyInputs {
  std::vector<std::string> inputs;
  std::string out_dir;      // created if missing; an output is named by result_name() of its input
  bool keep_going = false;  // continue after an input that fails
  SkipExisting skip_existing = SkipExisting::no;
  // Called for each input that fails, as it happens; calls do not overlap.
  std::function<void(const Error&)> on_error = {};
};

// Runs sten-prune or sten-convert for each input. The report has a row per input with the totals of
// the input's own report; JSON also has its tensors. The failure is that of inputs (exit code 1),
// else that of checks (3). Small inputs run in parallel, large inputs in sequence with all threads.
// The input and the path of the output in `each` are not read.
//
// The output directory has a manifest (batch_manifest.h). With SkipExisting::same, an output that
// is missing from the manifest is skipped with a warning; an output of another input, or of other
// options that decide bytes, is made again with `force`, else Error (usage) before the first input,
// which names the difference.
Outcome prune_batch(const ManyInputs& many, const PruneRequest& each);
Outcome convert_batch(const ManyInputs& many, const ConvertOptions& each);
// Runs sten-energy for each input. Writes nothing: out_dir and skip_existing are not read. Each
// input may have its own original.
Outcome energy_batch(const ManyInputs& many, const EnergyOptions& each);

}  // namespace sten
