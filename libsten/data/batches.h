// Batches of examples, the same for the same seed. Each can be made without those before it.
#pragma once
#include <cstdint>
#include <vector>

#include "libsten/data/examples.h"

namespace sten {

struct BatchOptions {
  Index size = 32;
  std::uint64_t seed = 0;
  bool shuffle = true;  // else every epoch has the rows in their own order
  // Features become scale * x + shift, in float32: 0.125 and -1 take 0 to 16 to -1 to 1.
  float scale = 1, shift = 0;
};

// Shares the examples' memory. An epoch has every row once; its last batch has what is left.
class Batches {
 public:
  // `rows` of the examples; may be in any order. Error (usage) where there are none, one is out of
  // range, or the size is not positive.
  Batches(Examples examples, std::vector<Index> rows, const BatchOptions& options);
  // All rows.
  explicit Batches(Examples examples, const BatchOptions& options = {});

  Index rows() const { return std::ssize(rows_); }
  Index per_epoch() const { return ceil_div(rows(), options_.size); }

  // features [B, ...] in F32 and labels [B] in I64; B is size, or less at the end of the epoch.
  // 0 <= i < per_epoch(). Not for several threads at once: the order of an epoch is kept.
  Examples at(Index epoch, Index i);
  // Counting on over the epochs: at(step / per_epoch(), step % per_epoch()).
  Examples at(Index step);

 private:
  const std::vector<Index>& order(Index epoch);

  Examples examples_;
  std::vector<Index> rows_;
  BatchOptions options_;
  Index ordered_epoch_ = -1;
  std::vector<Index> order_;  // of rows_ in that epoch
};

}  // namespace sten
