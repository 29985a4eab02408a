// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/calibrate/gram.h"

#include <cmath>
#include <numeric>

#include "libsten/compute/linalg/dense_gemm.h"
#include "libsten/compute/linalg/gram_product.h"
#include "libsten/core/base/error.h"

namespace sten::calibrate {

namespace {

double largest_of(const Dense& matrix) {
  double largest = 0;
  if (matrix.size() == 0) return largest;
  for (const float v : matrix.values.as<float>()) {
    if (!std::isfinite(v)) fail("the sums of products of the layer's inputs are not finite");
    largest = std::max(largest, static_cast<double>(std::abs(v)));
  }
  return largest;
}

}  // namespace

template <class T>
Gram<T>::Gram(const InputStatistics& inputs, double damping)
    : size_(inputs.gram.extents[0]),
      exponent_(scale_exponent(std::max(largest_of(inputs.gram), largest_of(inputs.cross)))),
      gram_(elements_of(inputs.gram, own_gram_)),
      cross_(inputs.has_cross() ? elements_of(inputs.cross, own_cross_) : gram_) {
  double trace = 0;
  for (Index i = 0; i < size_; ++i) trace += gram_[i * size_ + i];
  // Without any input, every weight may keep its value.
  added_ = trace > 0 ? damping * trace / static_cast<double>(size_) : 1;
}

template <class T>
const T* Gram<T>::elements_of(const Dense& matrix, std::vector<T>& own) const {
  const auto v = matrix.values.as<float>();
  if constexpr (std::is_same_v<T, float>)
    if (exponent_ == 0) return v.data();
  own.resize(v.size());
  for (std::size_t i = 0; i < v.size(); ++i)
    own[i] = static_cast<T>(std::scalbn(static_cast<double>(v[i]), -exponent_));
  return own.data();
}

template <class T>
std::vector<T> Gram<T>::norms() const {
  std::vector<T> norm(size_);
  for (Index j = 0; j < size_; ++j) norm[j] = static_cast<T>(std::sqrt(at(j, j)));
  return norm;
}

template <class T>
std::vector<T> Gram<T>::scaled(const std::vector<T>& norm, T more) const {
  std::vector<T> a(size_ * size_);
  for (Index i = 0; i < size_; ++i)
    for (Index j = 0; j < size_; ++j)
      a[i * size_ + j] = static_cast<T>(at(i, j) / norm[i] / norm[j]) + (i == j ? more : 0);
  return a;
}

template <class T>
Matrix<T> Gram<T>::targets(const Matrix<T>& w) const {
  Matrix<T> t(w.rows, w.cols);
  for_row_blocks(
      w.rows, [&](Index begin, Index end) { targets(w, begin, end, t.row(begin)); },
      product_block(w.rows));
  return t;
}

template <class T>
void Gram<T>::targets(const Matrix<T>& w, Index begin, Index end, T* to) const {
  multiply_rows(w.row(begin), end - begin, w.cols, cross_, w.cols, to);
  const auto added = static_cast<T>(added_);
  for (Index i = 0; i < (end - begin) * w.cols; ++i) to[i] += added * w.row(begin)[i];
}

void fail_not_positive() {
  fail("the Gram matrix is not positive definite (increase the damping)");
}

void multiply_rows(const float* a, Index rows, Index cols, const float* b, Index b_cols, float* y) {
  dense_gemm(rows, b_cols, cols, a, b, y, 1);
}

void multiply_rows(const double* a, Index rows, Index cols, const double* b, Index b_cols,
                   double* y) {
  constexpr Index depth = 64, width = 512;  // block of b that stays in cache
  std::fill_n(y, rows * b_cols, 0.0);
  for (Index j0 = 0; j0 < b_cols; j0 += width)
    for (Index k0 = 0; k0 < cols; k0 += depth)
      for (Index r = 0; r < rows; ++r)
        for (Index k = k0; k < std::min(cols, k0 + depth); ++k) {
          const double factor = a[r * cols + k];
          const double* from = b + k * b_cols;
          for (Index j = j0; j < std::min(b_cols, j0 + width); ++j)
            y[r * b_cols + j] += factor * from[j];
        }
}

double quadratic_trace(const Matrix<float>& a, const float* matrix) {
  return sten::quadratic_trace(a.rows, a.cols, a.values.data(), matrix);
}

double quadratic_trace(const Matrix<double>& a, const double* matrix) {
  const Index block = product_block(a.rows);
  std::vector<double> sums(ceil_div(a.rows, block));
  const auto add = [&](Index begin, Index end) {
    const double* rows = a.row(begin);
    std::vector<double> product((end - begin) * a.cols);
    multiply_rows(rows, end - begin, a.cols, matrix, a.cols, product.data());
    for (Index i = 0; i < std::ssize(product); ++i) sums[begin / block] += product[i] * rows[i];
  };
  for_row_blocks(a.rows, add, block);
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

template class Gram<float>;
template class Gram<double>;

}  // namespace sten::calibrate
