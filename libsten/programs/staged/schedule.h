// SPDX-License-Identifier: Apache-2.0
// Schedules of pruning in stages.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "libsten/core/base/spec.h"

namespace sten {

// A checked --schedule: rising sparsities or structures for all selected tensors, or layer-wise:
// the full sparsity for one more tensor per stage.
struct Schedule {
  bool layerwise = false;
  std::vector<double> sparsity;         // of stages 1, 2, ..., or
  std::vector<std::string> structures;  // of stages 1, 2, ..., if several
  Spec spec;                            // the option's value

  std::size_t stages() const { return structures.empty() ? sparsity.size() : structures.size(); }
};

// Parses a schedule:
//   iterative:from=a,to=b,step=d                    formulas: training/recipe/sparsity_schedule.h
//   linear|cubic|exponential:from=a,to=b,stages=T
//   layer-wise (or layerwise)                   to `sparsity` or the only structure
//   iterative with several structures           one per stage
// `sparsity`: that of --sparsity; the final one without `to`, otherwise equal to `to`. Error
// (usage) with the key.
Schedule parse_schedule(const std::string& text, std::optional<double> sparsity,
                        const std::vector<std::string>& structures);

}  // namespace sten
