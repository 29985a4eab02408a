// The steps by which pruning reaches its sparsity.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "libsten/base/spec.h"

namespace sten {

// --schedule, checked. Either rising sparsities (or structures), each for all selected tensors; or
// layer-wise: all at once for one tensor more per stage.
struct Schedule {
  bool layerwise = false;
  std::vector<double> sparsity;         // of stages 1, 2, ..., or
  std::vector<std::string> structures;  // theirs, where there are several
  Spec spec;                            // as given

  std::size_t stages() const { return structures.empty() ? sparsity.size() : structures.size(); }
};

// iterative:from=a,to=b,step=d                    recipe/sparsity_schedule.h has the formulas
// linear|cubic|exponential:from=a,to=b,stages=T
// layer-wise (or layerwise)                   to `sparsity`, or the one structure
// iterative with several structures           one a stage
// `sparsity` is that of --sparsity: without `to` it is the end, with it they are the same. Error
// (usage) that names the key.
Schedule parse_schedule(const std::string& text, std::optional<double> sparsity,
                        const std::vector<std::string>& structures);

}  // namespace sten
