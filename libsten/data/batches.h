// Batches of examples, the same for the same seed. Each can be made without those before it.
#pragma once
#include <cstdint>
#include <span>
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

// The rows of batches, by number.
class RowBatches {
 public:
  // `rows` in any order. Error (usage) without rows, or if the size is not positive.
  RowBatches(std::vector<Index> rows, Index size, std::uint64_t seed, bool shuffle);

  const std::vector<Index>& all() const { return rows_; }
  Index rows() const { return std::ssize(rows_); }
  Index per_epoch() const { return ceil_div(rows(), size_); }
  // See Batches::at().
  std::vector<Index> at(Index epoch, Index i);
  std::vector<Index> at(Index step) { return at(step / per_epoch(), step % per_epoch()); }

 private:
  const std::vector<Index>& order(Index epoch);

  std::vector<Index> rows_;
  Index size_;
  std::uint64_t seed_;
  bool shuffle_;
  Index ordered_epoch_ = -1;
  std::vector<Index> order_;  // of rows_ in that epoch
};

// Those rows of x, the first axis, in an array of that shape but for its first extent: numbers as
// scale * x + shift in F32, and anything in its own dtype.
Dense numbers_of(const Dense& x, std::span<const Index> rows, Shape shape, float scale,
                 float shift);
Dense rows_of(const Dense& x, std::span<const Index> rows, Shape shape);

// Shares the examples' memory. An epoch has every row once; its last batch has what is left.
class Batches {
 public:
  // `rows` of the examples; may be in any order. Error (usage) without rows, if one is out of
  // range, or the size is not positive.
  Batches(Examples examples, std::vector<Index> rows, const BatchOptions& options);
  // All rows.
  explicit Batches(Examples examples, const BatchOptions& options = {});

  Index rows() const { return rows_.rows(); }
  Index per_epoch() const { return rows_.per_epoch(); }

  // features [B, ...] in F32 and labels [B] in I64; B is size, or less at the end of the epoch.
  // 0 <= i < per_epoch(). Not for several threads at once: the order of an epoch is kept.
  Examples at(Index epoch, Index i);
  // Counting on over the epochs: at(step / per_epoch(), step % per_epoch()).
  Examples at(Index step) { return at(step / per_epoch(), step % per_epoch()); }

 private:
  Examples examples_;
  RowBatches rows_;
  float scale_, shift_;
};

}  // namespace sten
