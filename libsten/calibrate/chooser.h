// Which elements stay, by a rank for each of them and whatever structure they are to have.
#pragma once
#include "libsten/calibrate/layer.h"
#include "libsten/calibrate/matrix.h"
#include "libsten/sparsify/sparsifier.h"

namespace sten::calibrate {

class Chooser {
 public:
  explicit Chooser(const CalibratedOptions& options);

  // Of ranks >= 0 of a matrix [out, in], or of some of its columns that are a multiple of step().
  template <class T>
  Kept choose(const Matrix<T>& ranks) const;
  // Of ranks as the weight has them: [out, in], or [in, out] of one that is transposed; not by row.
  Mask choose(const Dense& ranks) const { return sparsifier_.select(ranks); }
  // Of a choice by row.
  double row_sparsity() const { return row_sparsity_; }
  // How many columns a structure chooses together; 0: any number of them, with the same share.
  Index step() const { return step_; }

 private:
  template <class T>
  Kept choose_by_row(const Matrix<T>& ranks) const;

  Sparsifier sparsifier_;
  double row_sparsity_ = -1;  // of a choice by row; negative: by all
  bool transposed_;
  Index step_ = 0;
};

}  // namespace sten::calibrate
