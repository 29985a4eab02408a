// SPDX-License-Identifier: Apache-2.0
// Report of sten-prune: rows, a total, notes and facts.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "libsten/programs/measure/measure.h"
#include "libsten/programs/measure/whole_model.h"
#include "libsten/programs/prune/global_threshold.h"

namespace sten {

// The report without rows.
Report prune_report();

class PruneSummary {
 public:
  // Keeps references to all arguments, which must not change.
  PruneSummary(const PruneRequest& request, const Rewrite& rewrite, const PrunePlan& plan);

  // Adds tensor i: x became `after`, with `zero` zeros; `m` has the magnitudes kept by `keep`.
  void add(std::size_t i, const Dense& x, const Mask& keep, const Tensor& after,
           const Magnitudes& m, Index zero);
  // Adds the output errors of a tensor that was pruned with calibration (compute/calibrate/layer.h).
  void add_errors(std::size_t i, double before, double after);
  // The energy over all added tensors.
  double kept_energy() const { return energy(total_.magnitudes); }

  // Completes the report, except for add_file(); call once. `threshold`: over several tensors.
  Report finish(const std::optional<GlobalThreshold::Counts>& threshold,
                const Reordering& reordering);
  // Adds the size of the written output.
  void add_file(Report& r, Index bytes) const;

 private:
  void add_permutation(Report& r, const Reordering& reordering);
  void add_notes(Report& r, const std::optional<GlobalThreshold::Counts>& threshold,
                 const Reordering& reordering) const;
  WholeModel whole_model() const;

  const PruneRequest& request_;
  const Rewrite& rewrite_;
  const PrunePlan& plan_;
  struct {
    Index elements = 0, kept = 0, zeros = 0, bytes_before = 0, bytes_after = 0, grown = 0;
    Index kept_zeros = 0;
    Index same_size = 0;  // stored dense or masked
    Index bitmask = 0;    // bytes as bitmask
    Magnitudes magnitudes;
  } total_;
  Report report_ = prune_report();
  bool has_errors_ = false;
  std::vector<std::vector<Cell>> rows_;  // per tensor
};

}  // namespace sten
