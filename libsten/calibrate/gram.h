// The normal equations of a layer: what its inputs have in common, damped.
#pragma once
#include "libsten/calibrate/layer.h"
#include "libsten/calibrate/matrix.h"

namespace sten::calibrate {

// Views into the statistics, [in, in]; they outlive it.
class Gram {
 public:
  Gram(const InputStatistics& inputs, double damping);

  Index size() const { return size_; }
  // Of the Gram matrix with what is added to its diagonal.
  double at(Index i, Index j) const {
    return static_cast<double>(gram_[i * size_ + j]) + (i == j ? added_ : 0);
  }
  double added() const { return added_; }
  const float* plain() const { return gram_; }
  // The square roots of its diagonal, and the matrix with rows and columns divided by them, so that the
  // diagonal is 1 + more: of inputs of the same norm.
  std::vector<float> norms() const;
  std::vector<float> scaled(const std::vector<float>& norms, float more) const;
  // W (C + added I), C being the cross matrix, or the Gram matrix where there is none: the right sides
  // of all rows.
  Matrix targets(const Matrix& w) const;
  // Of rows [begin, end) alone, [end - begin, in], by one thread.
  void targets(const Matrix& w, Index begin, Index end, float* to) const;

 private:
  Index size_;
  const float *gram_, *cross_;
  double added_;
};

[[noreturn]] void fail_not_positive();

// y = a b of some rows of a, by one thread; b is [cols, b_cols].
void multiply_rows(const float* a, Index rows, Index cols, const float* b, Index b_cols, float* y);

// The sum over all rows of (a M)_r . b_r: tr(a M b^T), in double.
double trace(const Matrix& a, const float* matrix, const Matrix& b);
// tr((a - b) M (a - b)^T), in double, a block of rows at a time.
double trace_of_difference(const Matrix& a, const Matrix& b, const float* matrix);

}  // namespace sten::calibrate
