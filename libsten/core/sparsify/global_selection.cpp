// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/sparsify/global_selection.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "libsten/core/sparsify/magnitude.h"
#include "libsten/core/sparsify/scored.h"

namespace sten {

bool GlobalSelection::supports(const Spec& sparsifier) {
  return std::ranges::any_of(
      std::to_array({Magnitude::name, BlockMagnitude::name, Movement::name, Gradient::name}),
      [&](const char* name) { return sparsifier.is(name); });
}

GlobalSelection::GlobalSelection(const Spec& sparsifier, bool has_scores, std::size_t count,
                                 const Visit& visit, double sparsity)
    : movement_(sparsifier.is(Movement::name)) {
  if (sparsifier.is(BlockMagnitude::name)) blocks_ = BlockMagnitude::make(sparsifier);
  Index elements = 0, below_zero = 0;
  for (std::size_t k = 0; has_scores && k < count; ++k)
    visit(k, [&](const Dense& x, const Dense* scores) {
      wide_ |= ranks_are_wide(x, *scores);
      elements += x.size();
      if (movement_) below_zero += count_below_zero(x, *scores);
    });
  below_zero_ = std::llround(sparsity * static_cast<double>(elements)) <= below_zero;
  magnitude_.emplace(
      count,
      [&](std::size_t k, const std::function<void(const Dense&)>& f) {
        visit(k, [&](const Dense& x, const Dense* scores) { f(ranks(x, scores)); });
      },
      sparsity);
}

Dense GlobalSelection::ranks(const Dense& x, const Dense* scores) const {
  const Dense ranks = !scores     ? x
                      : movement_ ? movement_ranks(x, *scores, wide_, below_zero_)
                                  : gradient_ranks(x, *scores, wide_);
  return blocks_ ? blocks_->sums(ranks) : ranks;
}

Mask GlobalSelection::select(std::size_t k, const Dense& x, const Dense* scores) const {
  Mask keep = magnitude_->select(k, ranks(x, scores));
  return blocks_ ? blocks_->expand(x.extents, keep) : keep;
}

}  // namespace sten
