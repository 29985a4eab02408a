// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/prune/global_threshold.h"

#include "libsten/core/sparsify/scored.h"
#include "libsten/programs/plan/sparse_input.h"

namespace sten {

GlobalThreshold::GlobalThreshold(const PrunePlan& plan, double sparsity, const WeightReader& reader)
    : plan_(plan), reader_(reader), position_(plan.tensors.size()) {
  for (const std::size_t i : plan.order) {
    if (!plan.tensors[i]->global || plan.first[i] != i) continue;
    position_[i] = tensors_.size();
    tensors_.push_back(i);
  }
  if (tensors_.empty()) return;
  try {
    find(sparsity);
  } catch (const std::bad_alloc&) {
    fail("{}: out of memory for one threshold of {} tensors", reader.input().name(),
         tensors_.size());
  }
}

void GlobalThreshold::find(double sparsity) {
  const TensorPlan& how = *plan_.tensors[tensors_[0]];  // that of all
  selection_.emplace(
      how.sparsifier, how.needs_scores, tensors_.size(),
      [&](std::size_t k, const std::function<void(const Dense&, const Dense*)>& f) {
        const std::size_t i = tensors_[k];
        reader_.visit(i, [&](const Dense& x, const Dense* scores) {
          with_ranked(i, x, scores, [&](const Dense* ranked) { f(x, ranked); });
        });
      },
      sparsity);
}

Mask GlobalThreshold::select(std::size_t i, const Dense& x, const Dense* scores) const {
  Mask keep;
  with_ranked(i, x, scores, [&](const Dense* ranked) {
    keep = selection_->select(position_[plan_.first[i]], x, ranked);
  });
  return keep;
}

void GlobalThreshold::with_ranked(std::size_t i, const Dense& x, const Dense* scores,
                                  const std::function<void(const Dense*)>& f) const {
  const std::size_t first = plan_.first[i];  // whose scores these are
  if (!plan_.tensors[i]->sparsifier.is(Movement::name) ||
      !reader_.input().tensors()[first].is_sparse())
    return f(scores);
  const Dense ranked = scores_by_nonzeros(x, *scores);
  f(&ranked);
}

std::optional<GlobalThreshold::Counts> GlobalThreshold::counts() const {
  if (!selection_) return std::nullopt;
  return Counts{selection_->dropped(), selection_->elements(), selection_->is_of_blocks(),
                tensors_.size()};
}

}  // namespace sten
