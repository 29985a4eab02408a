// Many inputs, one after the other or side by side.
#pragma once
#include <functional>

#include "libsten/run/convert.h"
#include "libsten/run/energy.h"
#include "libsten/run/prune.h"

namespace sten {

// Which outputs of an earlier run are left alone: those that the same input and options made, or
// whatever has the name.
enum class SkipExisting { no, same, any };

struct ManyInputs {
  std::vector<std::string> inputs;
  std::string out_dir;      // made if it is missing; outputs have the result_name() of their inputs
  bool keep_going = false;  // an input that fails does not end the run
  SkipExisting skip_existing = SkipExisting::no;
  // Told of each input that failed, as it happens; calls do not overlap.
  std::function<void(const Error&)> on_error = {};
};

// A row per input, with the totals of its own report, whose tensors JSON has, too. The failure is that of inputs (exit code 1),
// else that of checks (3). Small inputs are worked on side by side, large ones one after the other
// with all threads. Of the options for each, input and output are not read.
//
// The output directory has a record (batch_manifest.h). With SkipExisting::same an output that it
// lacks is skipped with a warning; one of another input, or of other options that decide bytes, is
// made again with `force`, else Error (usage) before the first input, which names the difference.
Outcome prune_batch(const ManyInputs& many, const PruneOptions& each);
Outcome convert_batch(const ManyInputs& many, const ConvertOptions& each);
// Nothing is written: out_dir and skip_existing are not read. The original may differ by input.
Outcome energy_batch(const ManyInputs& many, const EnergyOptions& each);

}  // namespace sten
