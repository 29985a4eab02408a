#include "libsten/programs/plan/global_ranks.h"

#include <cmath>

#include "libsten/core/sparsify/scored.h"

namespace sten {

GlobalRanks::GlobalRanks(const TensorPlan& how, double sparsity, std::size_t count,
                         const With& with)
    : scored_(how.needs_scores), movement_(how.sparsifier.is("movement")) {
  if (how.sparsifier.is("block-magnitude")) blocks_ = BlockMagnitude::make(how.sparsifier);
  if (!scored_) return;
  Index elements = 0, below_zero = 0;
  for (std::size_t k = 0; k < count; ++k)
    with(k, [&](const Dense& x, const Dense* scores) {
      wide_ |= ranks_are_wide(x, *scores);
      elements += x.size();
      if (movement_) below_zero += count_below_zero(x, *scores);
    });
  below_zero_ = std::llround(sparsity * static_cast<double>(elements)) <= below_zero;
}

Dense GlobalRanks::of(const Dense& x, const Dense* scores) const {
  const Dense ranks = !scored_    ? x
                      : movement_ ? movement_ranks(x, *scores, wide_, below_zero_)
                                  : gradient_ranks(x, *scores, wide_);
  return blocks_ ? blocks_->sums(ranks) : ranks;
}

Mask GlobalRanks::expand(const Shape& shape, Mask ranks) const {
  return blocks_ ? blocks_->expand(shape, ranks) : ranks;
}

}  // namespace sten
