// What a run of sten-prune says of its result: rows, a total, notes and facts.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "libsten/run/measure.h"
#include "libsten/run/prune_request.h"
#include "libsten/run/reorder.h"
#include "libsten/run/whole_model.h"

namespace sten {

class PruneSummary {
 public:
  // All of them stay valid, and as they are.
  PruneSummary(const PruneOptions& options, const PruneRequest& request, const Rewrite& rewrite,
               const PruneRequest::TensorPlans& plans, const std::vector<bool>& are_in_by_out);

  // Tensor i: x became `after`, `zero` elements of which are 0; `m` over what `keep` keeps.
  void add(std::size_t i, const Dense& x, const Mask& keep, const Tensor& after,
           const Magnitudes& m, Index zero);
  // Of a tensor pruned by what goes into it: the errors of its outputs (calibrate/layer.h).
  void add_errors(std::size_t i, double before, double after);
  // Of all that was added.
  double kept_energy() const { return energy(total_.magnitudes); }

  // What only the run knows.
  struct Threshold {  // for several tensors together
    Index dropped, elements;
    bool of_blocks;
    std::size_t tensors;
  };
  struct Known {
    const std::vector<std::size_t>& order;  // of the chosen tensors in the report
    const std::vector<std::string>& tied;   // pairs of names
    std::optional<Threshold> threshold;
    const Reordering& reordering;
  };
  // All of the report but what add_file() adds; once.
  Report finish(const Known& known);
  // The size of the output, once it is there.
  void add_file(Report& r, Index bytes) const;

 private:
  void add_permutation(Report& r, const Reordering& reordering);
  void add_notes(Report& r, const Known& known) const;
  WholeModel whole_model() const;

  const PruneOptions& o_;
  const PruneRequest& request_;
  const Rewrite& rewrite_;
  const PruneRequest::TensorPlans& plans_;
  const std::vector<bool>& are_in_by_out_;
  struct {
    Index elements = 0, kept = 0, zeros = 0, bytes_before = 0, bytes_after = 0, grown = 0;
    Index kept_zeros = 0;
    Index same_size = 0;  // stored dense or masked
    Index bitmask = 0;    // bytes as bitmask
    Magnitudes magnitudes;
  } total_;
  Report report_ = prune_report();
  bool has_errors_ = false;
  std::vector<std::vector<Cell>> rows_;  // by number of a tensor
};

}  // namespace sten
