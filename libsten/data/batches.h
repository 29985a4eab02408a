// SPDX-License-Identifier: Apache-2.0
// Batches of examples, the same for the same seed. Each can be made without the previous ones.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "libsten/data/examples.h"

namespace sten {

struct BatchOptions {
  Index size = 32;
  std::uint64_t seed = 0;
  bool shuffle = true;  // false: rows stay in order
  // Features become scale * x + shift, in float32: scale 0.125 and shift -1 map [0, 16] to [-1, 1].
  float scale = 1, shift = 0;
};

// Row indices of batches.
class RowBatches {
 public:
  // `rows`: in any order. Error (usage) if it is empty, or the size is not positive.
  RowBatches(std::vector<Index> rows, Index size, std::uint64_t seed, bool shuffle);

  const std::vector<Index>& all() const { return rows_; }
  Index rows() const { return std::ssize(rows_); }
  Index per_epoch() const { return ceil_div(rows(), size_); }
  // The row indices of Batches::at().
  std::vector<Index> at(Index epoch, Index i);
  std::vector<Index> at(Index step) { return at(step / per_epoch(), step % per_epoch()); }

 private:
  const std::vector<Index>& order(Index epoch);

  std::vector<Index> rows_;
  Index size_;
  std::uint64_t seed_;
  bool shuffle_;
  Index ordered_epoch_ = -1;
  std::vector<Index> order_;  // of rows_ in the current epoch
};

// Gathers rows of x (its first axis) to an array of `shape`, whose first extent is replaced:
// numbers as scale * x + shift in F32, or values in their own dtype.
Dense numbers_of(const Dense& x, std::span<const Index> rows, Shape shape, float scale,
                 float shift);
Dense rows_of(const Dense& x, std::span<const Index> rows, Shape shape);

// Shares the examples' memory. An epoch has every row once; its last batch can be smaller.
class Batches {
 public:
  // `rows`: indices of examples, in any order. Error (usage) if it is empty, an index is out of
  // range, or the size is not positive.
  Batches(Examples examples, std::vector<Index> rows, const BatchOptions& options);
  // Uses all rows.
  explicit Batches(Examples examples, const BatchOptions& options = {});

  Index rows() const { return rows_.rows(); }
  Index per_epoch() const { return rows_.per_epoch(); }

  // Returns batch i of an epoch, 0 <= i < per_epoch(): features [B, ...] in F32 and labels [B] in
  // I64, B being the size, or less at the end of the epoch. Not thread-safe: caches the order of an
  // epoch.
  Examples at(Index epoch, Index i);
  // Batch number `step` over all epochs: at(step / per_epoch(), step % per_epoch()).
  Examples at(Index step) { return at(step / per_epoch(), step % per_epoch()); }

 private:
  Examples examples_;
  RowBatches rows_;
  float scale_, shift_;
};

}  // namespace sten
