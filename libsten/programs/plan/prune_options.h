// Options of sten-prune.
#pragma once
#include "libsten/core/base/named_enum.h"
#include "libsten/programs/plan/calibration_options.h"
#include "libsten/programs/rewrite/rewrite.h"

namespace sten {

enum class PruneMethod {
  magnitude,
  random,
  threshold,
  movement,
  l0,
  gradient,
  wanda,  // this and the following: with calibration (compute/calibrate/layer.h)
  ria,
  sparsegpt,
  admm
};
inline const std::vector<std::string>& names_of(PruneMethod) {
  static const std::vector<std::string> names = {"magnitude", "random",   "threshold", "movement",
                                                 "l0",        "gradient", "wanda",     "ria",
                                                 "sparsegpt", "admm"};
  return names;
}

enum class PruneScope { local, row, global };  // of a sparsity: per tensor, per row or over all
inline const std::vector<std::string>& names_of(PruneScope) {
  static const std::vector<std::string> names = {"local", "row", "global"};
  return names;
}

enum class Nan { error, keep, zero };
inline const std::vector<std::string>& names_of(Nan) {
  static const std::vector<std::string> names = {"error", "keep", "zero"};
  return names;
}

struct PruneOptions {
  std::string input;
  OutputOptions output;
  Patterns patterns;
  std::optional<double> sparsity;  // fraction of zeros, [0, 1]
  PruneMethod method = PruneMethod::magnitude;
  std::optional<double> at;  // of method threshold
  std::string scores;        // file of scores for movement, l0 and gradient
  CalibrationOptions calibration;
  bool reconstruct = false;          // solve kept values again by least squares
  std::optional<PruneScope> scope;   // default: row for wanda, else local
  Spec structure{"unstructured"};    // or block, nm, nmg or nmgv
  std::string to = "dense";          // layout of pruned tensors, or "auto": as provenance has it
  std::vector<std::string> rules;    // PATTERN=SPEC, first match wins
  std::string rules_file;            // file of more rules, which come after `rules`
  std::vector<std::string> reorder;  // FIRST=NEXT: permutes the rows of FIRST (reorder.h)
  std::string mask;                  // file of masks to apply
  std::string mask_out;              // file for the masks of this run
  Nan nan = Nan::error;
  std::uint64_t seed = 0;            // of method random
  std::optional<double> min_energy;  // a check on the total
  std::string device = "cpu";        // or cuda, cuda:N
  bool show_progress = false;
  // For pruning in stages: a file of masks for chosen tensors that were pruned before; the one
  // tensor to prune besides (empty: all); a checkpoint whose metadata the output gets where the
  // input lacks the key; and the options for the output's provenance (empty: no step).
  std::string masks_so_far, only, metadata_of;
  std::optional<Options> provenance;
};

}  // namespace sten
