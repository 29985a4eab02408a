#include "libsten/calibrate/gram.h"

#include <cmath>

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

std::vector<float> Gram::norms() const {
  std::vector<float> norm(size_);
  for (Index j = 0; j < size_; ++j) norm[j] = static_cast<float>(std::sqrt(at(j, j)));
  return norm;
}

std::vector<float> Gram::scaled(const std::vector<float>& norm, float more) const {
  std::vector<float> a(size_ * size_);
  for (Index i = 0; i < size_; ++i)
    for (Index j = 0; j < size_; ++j)
      a[i * size_ + j] = static_cast<float>(at(i, j) / norm[i] / norm[j]) + (i == j ? more : 0);
  return a;
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

void fail_not_positive() {
  fail("the Gram matrix is not positive definite; a larger damping makes it so");
}

void multiply_rows(const float* a, Index rows, Index cols, const float* b, Index b_cols, float* y) {
  dense_gemm(rows, b_cols, cols, a, b, y, 1);
}

double trace(const Matrix& a, const float* matrix, const Matrix& b) {
  std::vector<double> of_block(ceil_div(a.rows, row_block));
  for_row_blocks(a.rows, [&](Index begin, Index end) {
    std::vector<float> product((end - begin) * a.cols);
    multiply_rows(a.row(begin), end - begin, a.cols, matrix, a.cols, product.data());
    double sum = 0;
    for (Index i = 0; i < std::ssize(product); ++i)
      sum += static_cast<double>(product[i]) * b.row(begin)[i];
    of_block[begin / row_block] = sum;
  });
  double sum = 0;
  for (const double s : of_block) sum += s;
  return sum;
}

}  // namespace sten::calibrate
