// sten-prune: a checkpoint in, a sparser one out.
#pragma once
#include "libsten/run/rewrite.h"

namespace sten {

struct PruneOptions {
  std::string input;
  OutputOptions output;
  Patterns patterns;
  std::optional<double> sparsity;          // fraction of zeros, [0, 1]
  std::string method = "magnitude";        // magnitude | random | threshold
  std::optional<double> at;                // of method threshold
  std::string structure = "unstructured";  // or a spec of nm or nmg
  std::string to = "dense";                // layout of what was pruned
  std::uint64_t seed = 0;                  // of method random
  std::optional<double> min_energy;        // a check on the total
  bool show_progress = false;
};

// One shot, tensor by tensor. Error (usage) for options that contradict each other.
Outcome prune(const PruneOptions& options);

}  // namespace sten
