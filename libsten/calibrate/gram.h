// The normal equations of a layer: what its inputs have in common, damped.
#pragma once
#include "libsten/calibrate/layer.h"
#include "libsten/calibrate/matrix.h"

namespace sten::calibrate {

// [in, in], as T times 2^-exponent (see scale_exponent()): views into the statistics where those are
// such, which outlive it. Error where an element is not finite.
template <class T>
class Gram {
 public:
  Gram(const InputStatistics& inputs, double damping);
  Gram(const Gram&) = delete;
  Gram& operator=(const Gram&) = delete;

  Index size() const { return size_; }
  // Of the Gram matrix with what is added to its diagonal.
  double at(Index i, Index j) const {
    return static_cast<double>(gram_[i * size_ + j]) + (i == j ? added_ : 0);
  }
  double added() const { return added_; }
  const T* plain() const { return gram_; }
  // The plain one where the statistics have no other.
  const T* cross() const { return cross_; }
  int exponent() const { return exponent_; }
  // The square roots of its diagonal, and the matrix with rows and columns divided by them, so that the
  // diagonal is 1 + more: of inputs of the same norm.
  std::vector<T> norms() const;
  std::vector<T> scaled(const std::vector<T>& norms, T more) const;
  // W (C + added I), C being the cross matrix, or the Gram matrix where there is none: the right sides
  // of all rows.
  Matrix<T> targets(const Matrix<T>& w) const;
  // Of rows [begin, end) alone, [end - begin, in], by one thread.
  void targets(const Matrix<T>& w, Index begin, Index end, T* to) const;

 private:
  const T* elements_of(const Dense& matrix, std::vector<T>& own) const;

  Index size_;
  int exponent_ = 0;
  std::vector<T> own_gram_, own_cross_;  // empty: views
  const T *gram_, *cross_;
  double added_;
};

[[noreturn]] void fail_not_positive();

// y = a b of some rows of a, by one thread; b is [cols, b_cols].
void multiply_rows(const float* a, Index rows, Index cols, const float* b, Index b_cols, float* y);
void multiply_rows(const double* a, Index rows, Index cols, const double* b, Index b_cols,
                   double* y);

// The sum over all rows of (a M)_r . b_r: tr(a M b^T), in double.
template <class T>
double trace(const Matrix<T>& a, const T* matrix, const Matrix<T>& b);
// tr((a - b) M (a - b)^T), in double, a block of rows at a time.
template <class T>
double trace_of_difference(const Matrix<T>& a, const Matrix<T>& b, const T* matrix);

}  // namespace sten::calibrate
