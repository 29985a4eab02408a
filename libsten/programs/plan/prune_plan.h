// SPDX-License-Identifier: Apache-2.0
// Plan of pruning: what happens to each tensor of a checkpoint.
#pragma once
#include "libsten/programs/plan/prune_request.h"

namespace sten {

struct PrunePlan {
  std::vector<std::optional<TensorPlan>> tensors;  // none: unchanged
  std::vector<std::size_t> order;                  // of chosen tensors: natural order of names
  Index skipped = 0;                               // tensors that a glob matches, but not prunable
  std::vector<SkipReason> why;                     // skip reasons of a default selection
  std::vector<bool> transposed;                    // per tensor: a matrix [in, out]
  // Per chosen tensor: the one whose mask it shares, or itself (find_tied()).
  std::vector<std::size_t> first;
  std::vector<std::string> tied;  // pairs of names

  Index chosen() const { return static_cast<Index>(order.size()); }
  // The layouts of tensors to be written: those chosen, or moved by `reordering`.
  std::vector<std::optional<Spec>> layouts(const Reordering& reordering) const;
};

// The plan for a checkpoint, which is an input of the request; `masks`: the file of masks to apply,
// or nullptr. Error (usage) if patterns or rules do not fit the tensors.
PrunePlan plan_of(const PruneRequest& request, const Checkpoint& in, const Checkpoint* masks);

// Restricts a plan to tensor `only` (empty: all) and to the tensors with a mask in `so_far`, which
// get the sparsifier same-pattern.
void narrow(PrunePlan& plan, const Checkpoint& in, const std::string& only,
            const Checkpoint* so_far);

// Finds tied tensors, which are equal. Those under the global threshold share a mask, unless
// `reordering` moves them.
void find_tied(PrunePlan& plan, const Checkpoint& in, const Reordering& reordering);

}  // namespace sten
