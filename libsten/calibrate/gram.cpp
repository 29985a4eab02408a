#include "libsten/calibrate/gram.h"

#include "libsten/base/error.h"
#include "libsten/linalg/dense_gemm.h"

namespace sten::calibrate {

Gram::Gram(const InputStatistics& inputs, double damping)
    : size_(inputs.gram.extents[0]),
      gram_(inputs.gram.values.as<float>().data()),
      cross_(inputs.has_cross() ? inputs.cross.values.as<float>().data() : gram_) {
  double trace = 0;
  for (Index i = 0; i < size_; ++i) trace += gram_[i * size_ + i];
  // Without any input nothing is known, and every weight may stay what it is.
  added_ = trace > 0 ? damping * trace / static_cast<double>(size_) : 1;
}

Matrix Gram::targets(const Matrix& w) const {
  Matrix t(w.rows, w.cols);
  for_row_blocks(w.rows, [&](Index begin, Index end) {
    multiply_rows(w.row(begin), end - begin, w.cols, cross_, w.cols, t.row(begin));
    const float added = static_cast<float>(added_);
    for (Index i = begin * w.cols; i < end * w.cols; ++i) t.values[i] += added * w.values[i];
  });
  return t;
}

void multiply_rows(const float* a, Index rows, Index cols, const float* b, Index b_cols, float* y) {
  dense_gemm(rows, b_cols, cols, a, b, y, 1);
}

}  // namespace sten::calibrate
