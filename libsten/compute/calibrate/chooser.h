// SPDX-License-Identifier: Apache-2.0
// Chooser: selects elements with a given structure by their ranks.
#pragma once
#include "libsten/compute/calibrate/calibrated_options.h"
#include "libsten/compute/calibrate/matrix.h"
#include "libsten/core/sparsify/sparsifier.h"

namespace sten::calibrate {

class Chooser {
 public:
  explicit Chooser(const CalibratedOptions& options);

  // The kept elements for ranks >= 0 of a matrix [out, in], or of a range of its columns whose size
  // is a multiple of step().
  template <class T>
  Kept choose(const Matrix<T>& ranks) const;
  // The same for ranks in the weight's orientation: [out, in], or [in, out] if transposed. Not by
  // row.
  Mask choose(const Dense& ranks) const { return sparsifier_.select(ranks); }
  // The sparsity of each row, if rows are pruned equally.
  double row_sparsity() const { return row_sparsity_; }
  // Number of columns that a structure selects together; 0: any number, with the same sparsity.
  Index step() const { return step_; }

 private:
  template <class T>
  Kept choose_by_row(const Matrix<T>& ranks) const;

  Sparsifier sparsifier_;
  double row_sparsity_ = -1;  // negative: rows are not pruned equally
  bool transposed_;
  Index step_ = 0;
};

}  // namespace sten::calibrate
