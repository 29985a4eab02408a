#include "libsten/calibrate/gram.h"

#include <cmath>
#include <numeric>

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
  for_row_blocks(
      w.rows, [&](Index begin, Index end) { targets(w, begin, end, t.row(begin)); },
      product_block(w.rows));
  return t;
}

void Gram::targets(const Matrix& w, Index begin, Index end, float* to) const {
  multiply_rows(w.row(begin), end - begin, w.cols, cross_, w.cols, to);
  const float added = static_cast<float>(added_);
  for (Index i = 0; i < (end - begin) * w.cols; ++i) to[i] += added * w.row(begin)[i];
}

void fail_not_positive() {
  fail("the Gram matrix is not positive definite; a larger damping makes it so");
}

void multiply_rows(const float* a, Index rows, Index cols, const float* b, Index b_cols, float* y) {
  dense_gemm(rows, b_cols, cols, a, b, y, 1);
}

namespace {

// The sum over some rows of (a M)_r . b_r.
double weigh(const float* a, const float* matrix, const float* b, Index rows, Index cols) {
  std::vector<float> product(rows * cols);
  multiply_rows(a, rows, cols, matrix, cols, product.data());
  double sum = 0;
  for (Index i = 0; i < std::ssize(product); ++i) sum += static_cast<double>(product[i]) * b[i];
  return sum;
}

// of(begin, end) of all blocks of rows, added up in their order.
template <class F>
double sum_of_blocks(Index rows, const F& of) {
  const Index block = product_block(rows);
  std::vector<double> sums(ceil_div(rows, block));
  for_row_blocks(
      rows, [&](Index begin, Index end) { sums[begin / block] = of(begin, end); }, block);
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace

double trace(const Matrix& a, const float* matrix, const Matrix& b) {
  return sum_of_blocks(a.rows, [&](Index begin, Index end) {
    return weigh(a.row(begin), matrix, b.row(begin), end - begin, a.cols);
  });
}

double trace_of_difference(const Matrix& a, const Matrix& b, const float* matrix) {
  return sum_of_blocks(a.rows, [&](Index begin, Index end) {
    std::vector<float> apart((end - begin) * a.cols);
    for (Index i = 0; i < std::ssize(apart); ++i) apart[i] = a.row(begin)[i] - b.row(begin)[i];
    return weigh(apart.data(), matrix, apart.data(), end - begin, a.cols);
  });
}

}  // namespace sten::calibrate
