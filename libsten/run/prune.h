// sten-prune: a checkpoint in, a sparser one out.
#pragma once
#include "libsten/run/rewrite.h"

namespace sten {

struct PruneOptions {
  std::string input;
  OutputOptions output;
  Patterns patterns;
  std::optional<double> sparsity;  // fraction of zeros, [0, 1]
  // magnitude | random | threshold | movement | l0 | gradient; and by what goes into layers
  // (calibrate/layer.h) wanda | ria | sparsegpt | admm
  std::string method = "magnitude";
  std::optional<double> at;  // of method threshold
  std::string scores;        // a file, of movement, l0 and gradient
  std::string statistics;    // a file of what goes into layers
  std::string calibrate;     // or data that the model is run on to find it: as of sten-run
  std::optional<Index> calibrate_samples;  // rows of it; 64 where nothing is said
  std::optional<std::string>
      allocate;              // error | sensitivity | owl: how much each tensor loses; else the same
  bool reconstruct = false;  // what is kept is solved anew, so that outputs stay
  std::optional<double> damping;  // of the Gram matrix, as a share of its mean diagonal
  // local: each tensor for itself | row: each of its rows | global; nothing: row for wanda, else local
  std::optional<std::string> scope;
  std::string structure = "unstructured";  // or a spec of block, nm or nmg
  std::string to = "dense";                // layout of what was pruned, or "auto"
  std::vector<std::string> rules;          // PATTERN=SPEC, first match wins
  std::string rules_file;                  // more of them, after these
  std::vector<std::string> reorder;        // FIRST=NEXT: rows of FIRST in another order (reorder.h)
  std::string mask;                        // a file of masks to apply instead
  std::string mask_out;                    // a file for the masks that were used
  std::string nan = "error";               // error | keep | zero
  std::uint64_t seed = 0;                  // of method random
  std::optional<double> min_energy;        // a check on the total
  std::string device = "cpu";              // or cuda, cuda:N
  bool show_progress = false;
  // For pruning in stages. A file of masks that hold for the chosen tensors it names; the one
  // tensor to prune beside those (empty: all); a checkpoint whose metadata the output has where the
  // input has none under the same key; and what the output's provenance says instead of these
  // options (empty: no step).
  std::string masks_so_far, only, metadata_of;
  std::optional<Options> provenance;
};

inline constexpr Index usual_calibration = 64;  // rows

// The columns of its report, without rows.
Report prune_report();

// One shot. Error (usage) for options that contradict each other.
Outcome prune(const PruneOptions& options);

}  // namespace sten
