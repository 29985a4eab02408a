#include "libsten/programs/prune/global_threshold.h"

#include <cmath>

#include "libsten/core/sparsify/scored.h"

namespace sten {

GlobalThreshold::GlobalThreshold(const PrunePlan& plan, double sparsity, const WeightReader& reader)
    : plan_(plan), position_(plan.tensors.size()) {
  for (const std::size_t i : plan.order) {
    if (!plan.tensors[i]->global || plan.first[i] != i) continue;
    position_[i] = tensors_.size();
    tensors_.push_back(i);
  }
  if (tensors_.empty()) return;
  try {
    find(sparsity, reader);
  } catch (const std::bad_alloc&) {
    fail("{}: out of memory for one threshold of {} tensors", reader.input().name(),
         tensors_.size());
  }
}

void GlobalThreshold::find(double sparsity, const WeightReader& reader) {
  const TensorPlan& how = *plan_.tensors[tensors_[0]];  // that of all
  movement_ = how.sparsifier.is("movement");
  if (how.sparsifier.is("block-magnitude")) blocks_ = BlockMagnitude::make(how.sparsifier);
  if (how.needs_scores) {
    Index elements = 0, below_zero = 0;
    for (const std::size_t i : tensors_)
      reader.visit(i, [&](const Dense& x, const Dense* scores) {
        wide_ |= ranks_are_wide(x, *scores);
        elements += x.size();
        if (movement_) below_zero += count_below_zero(x, *scores);
      });
    below_zero_ = std::llround(sparsity * static_cast<double>(elements)) <= below_zero;
  }
  magnitude_.emplace(
      tensors_.size(),
      [&](std::size_t k, const std::function<void(const Dense&)>& f) {
        reader.visit(tensors_[k],
                     [&](const Dense& x, const Dense* scores) { f(ranks(x, scores)); });
      },
      sparsity);
}

Dense GlobalThreshold::ranks(const Dense& x, const Dense* scores) const {
  const Dense ranks = !scores     ? x
                      : movement_ ? movement_ranks(x, *scores, wide_, below_zero_)
                                  : gradient_ranks(x, *scores, wide_);
  return blocks_ ? blocks_->sums(ranks) : ranks;
}

Mask GlobalThreshold::select(std::size_t i, const Dense& x, const Dense* scores) const {
  Mask keep = magnitude_->select(position_[plan_.first[i]], ranks(x, scores));
  return blocks_ ? blocks_->expand(x.extents, keep) : keep;
}

std::optional<GlobalThreshold::Counts> GlobalThreshold::counts() const {
  if (!magnitude_) return std::nullopt;
  return Counts{magnitude_->dropped(), magnitude_->elements(), blocks_.has_value(),
                tensors_.size()};
}

}  // namespace sten
