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
  Kept choose(const Matrix& ranks) const;
  // Columns that can be chosen by themselves, for a matrix of so many: a row's share of an unstructured
  // choice can be any of them, and is 0 here.
  Index step() const { return step_; }

 private:
  Kept choose_by_row(const Matrix& ranks) const;

  Sparsifier sparsifier_;
  double row_sparsity_ = -1;  // of a choice by row; negative: by all
  bool transposed_;
  Index step_ = 0;
};

}  // namespace sten::calibrate
