// SPDX-License-Identifier: Apache-2.0
// The damped Gram matrix of a layer's inputs, for normal equations.
#pragma once
#include "libsten/compute/calibrate/input_statistics.h"
#include "libsten/compute/calibrate/matrix.h"

namespace sten::calibrate {

// Matrices [in, in] as T, scaled by 2^-exponent (see scale_exponent()). They refer to the
// statistics where possible, which must outlive the object. Error if an element is not finite.
template <class T>
class Gram {
 public:
  Gram(const InputStatistics& inputs, double damping);
  Gram(const Gram&) = delete;
  Gram& operator=(const Gram&) = delete;

  Index size() const { return size_; }
  // An element of the Gram matrix with damping on the diagonal.
  double at(Index i, Index j) const {
    return static_cast<double>(gram_[i * size_ + j]) + (i == j ? added_ : 0);
  }
  double added() const { return added_; }
  const T* plain() const { return gram_; }
  // The cross matrix; the undamped Gram matrix if the statistics have none.
  const T* cross() const { return cross_; }
  int exponent() const { return exponent_; }
  // norms(): the square roots of the damped diagonal. scaled(): the damped matrix with rows and
  // columns divided by `norms`, for inputs of equal norm; its diagonal is 1 + more.
  std::vector<T> norms() const;
  std::vector<T> scaled(const std::vector<T>& norms, T more) const;
  // The right-hand sides W (C + added I) [out, in] of all rows, where C is cross().
  Matrix<T> targets(const Matrix<T>& w) const;
  // Rows [begin, end) of targets(), [end - begin, in], on the calling thread.
  void targets(const Matrix<T>& w, Index begin, Index end, T* to) const;

 private:
  const T* elements_of(const Dense& matrix, std::vector<T>& own) const;

  Index size_;
  int exponent_ = 0;
  std::vector<T> own_gram_, own_cross_;  // empty: refers to the statistics
  const T *gram_, *cross_;
  double added_;
};

[[noreturn]] void fail_not_positive();

// Computes y = a b for some rows of a, on the calling thread; b is [cols, b_cols].
void multiply_rows(const float* a, Index rows, Index cols, const float* b, Index b_cols, float* y);
void multiply_rows(const double* a, Index rows, Index cols, const double* b, Index b_cols,
                   double* y);

// Returns tr(a M a^T) for a symmetric M, in double.
double quadratic_trace(const Matrix<float>& a, const float* matrix);
double quadratic_trace(const Matrix<double>& a, const double* matrix);

}  // namespace sten::calibrate
