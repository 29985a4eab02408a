#include "libsten/programs/prune/global_threshold.h"

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
    ranks_.emplace(*plan.tensors[tensors_[0]], sparsity, tensors_.size(),
                   [&](std::size_t k, const auto& f) { reader.visit(tensors_[k], f); });
    magnitude_.emplace(
        tensors_.size(),
        [&](std::size_t k, const std::function<void(const Dense&)>& f) {
          reader.visit(tensors_[k],
                       [&](const Dense& x, const Dense* scores) { f(ranks_->of(x, scores)); });
        },
        sparsity);
  } catch (const std::bad_alloc&) {
    fail("{}: out of memory for one threshold of {} tensors", reader.input().name(),
         tensors_.size());
  }
}

Mask GlobalThreshold::select(std::size_t i, const Dense& x, const Dense* scores) const {
  return ranks_->expand(x.extents,
                        magnitude_->select(position_[plan_.first[i]], ranks_->of(x, scores)));
}

std::optional<GlobalThreshold::Counts> GlobalThreshold::counts() const {
  if (!magnitude_) return std::nullopt;
  return Counts{magnitude_->dropped(), magnitude_->elements(), ranks_->of_blocks(),
                tensors_.size()};
}

}  // namespace sten
