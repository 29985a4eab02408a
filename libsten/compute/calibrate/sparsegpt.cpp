// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/calibrate/sparsegpt.h"

#include "libsten/compute/linalg/blocked_inverse.h"
#include "libsten/compute/linalg/gram_product.h"

namespace sten::calibrate {
namespace {

constexpr Index usual_block = 128;                // columns
constexpr Index rows_of_targets = 4 * row_block;  // at most; each thread has two copies of them

using sten::add_transposed_product;
void add_transposed_product(Index m, Index n, Index k, const double* a, Index lda, const double* b,
                            Index ldb, double* c, Index ldc) {
  for (Index r = 0; r < m; ++r)
    for (Index i = 0; i < k; ++i)
      for (Index j = 0; j < n; ++j) c[r * ldc + j] += a[i * lda + r] * b[i * ldb + j];
}

template <class T>
class Sweep {
 public:
  Sweep(Matrix<T>& w, const Gram<T>& gram, const Chooser& chooser)
      : w_(w), chooser_(chooser), in_(w.cols), upper_(in_ * in_), kept_(w.values.size(), 1) {
    for (Index i = 0; i < in_; ++i)
      for (Index j = 0; j < in_; ++j) upper_[i * in_ + j] = static_cast<T>(gram.at(i, j));
    std::vector<Index> unused;  // inputs that are always 0
    for (Index j = 0; j < in_; ++j)
      if (gram.plain()[j * in_ + j] == 0) unused.push_back(j);
    for (const Index j : unused) upper_[j * in_ + j] = 1;
    if (!factor_of_inverse(in_, upper_.data())) fail_not_positive();
    if (gram.cross() != gram.plain()) solve_for_targets(gram);
    for (const Index j : unused)
      for (Index r = 0; r < w.rows; ++r) w.row(r)[j] = 0;
  }

  Kept run() {
    const Index group = chooser_.step() == 0 ? usual_block : chooser_.step();
    const Index block = group * std::max<Index>(1, usual_block / group);
    for (Index begin = 0; begin < in_; begin += block) {
      const Index end = std::min(in_, begin + block);
      negated_errors_ = Matrix<T>(end - begin, w_.rows);
      for (Index at = begin; at < end; at += group)
        take_group(at, std::min(end, at + group), begin, end);
      push_right(begin, end);
    }
    return std::move(kept_);
  }

 private:
  // Replaces W by the unpruned weights whose outputs are closest to those of the dense model: the
  // targets times the inverse Gram matrix U^T U.
  void solve_for_targets(const Gram<T>& gram) {
    for (Index i = 0; i < in_; ++i)
      for (Index j = i + 1; j < in_; ++j) upper_[j * in_ + i] = upper_[i * in_ + j];
    for_row_blocks(
        w_.rows,
        [&](Index begin, Index end) {
          Matrix<T> x(end - begin, in_);
          gram.targets(w_, begin, end, x.row(0));
          x = transposed(x);
          for (Index at = 0; at < in_; at += usual_block) multiply_by_upper(at, x);
          for (Index at = (in_ - 1) / usual_block * usual_block; at >= 0; at -= usual_block)
            multiply_by_lower(at, x);
          x = transposed(x);
          std::ranges::copy(x.values, w_.row(begin));
        },
        std::min(product_block(w_.rows), rows_of_targets));
  }

  // Replaces a block of rows of X, from `at` on, by that of U X.
  void multiply_by_upper(Index at, Matrix<T>& x) const {
    const Index size = std::min(usual_block, in_ - at), end = at + size;
    Matrix<T> y(size, x.cols), diagonal(size, size);
    for (Index i = 0; i < size; ++i) std::copy_n(factor(at + i, at), i + 1, diagonal.row(i));
    add_product(diagonal.row(0), size, x, at, size, y);
    if (end < in_) add_product(factor(end, at), in_, x, end, in_ - end, y);
    std::ranges::copy(y.values, x.row(at));
  }

  // The same for U^T X.
  void multiply_by_lower(Index at, Matrix<T>& x) const {
    const Index size = std::min(usual_block, in_ - at);
    Matrix<T> y(size, x.cols), diagonal(size, size);
    for (Index i = 0; i < size; ++i)
      std::copy_n(factor(at + i, at + i), size - i, diagonal.row(i) + i);
    add_product(diagonal.row(0), size, x, at, size, y);
    if (at > 0) add_product(factor(0, at), in_, x, 0, at, y);
    std::ranges::copy(y.values, x.row(at));
  }

  const T* factor(Index i, Index j) const { return upper_.data() + i * in_ + j; }

  // Adds A^T X to Y, for `count` rows of A and of X, from `first` on.
  static void add_product(const T* a, Index lda, const Matrix<T>& x, Index first, Index count,
                          Matrix<T>& y) {
    add_transposed_product(y.rows, y.cols, count, a, lda, x.row(first), x.cols, y.row(0), y.cols);
  }

  void take_group(Index begin, Index end, Index block_begin, Index block_end) {
    Matrix<T> ranks(w_.rows, end - begin);
    for_row_blocks(w_.rows, [&](Index r0, Index r1) {
      for (Index r = r0; r < r1; ++r)
        for (Index c = begin; c < end; ++c) {
          const T scaled = w_.row(r)[c] / upper_[c * in_ + c];
          ranks.row(r)[c - begin] = scaled * scaled;
        }
    });
    const Kept chosen = chooser_.choose(ranks);
    for_row_blocks(w_.rows, [&](Index r0, Index r1) {
      for (Index r = r0; r < r1; ++r)
        take_columns(r, begin, end, block_begin, block_end, chosen.data() + r * (end - begin));
    });
  }

  void take_columns(Index r, Index begin, Index end, Index block_begin, Index block_end,
                    const std::uint8_t* chosen) {
    T* w = w_.row(r);
    for (Index c = begin; c < end; ++c) {
      if (chosen[c - begin]) continue;
      kept_[r * in_ + c] = 0;
      const T* u = upper_.data() + c * in_;
      const T error = w[c] / u[c];
      negated_errors_.row(c - block_begin)[r] = -error;
      w[c] = 0;
      for (Index j = c + 1; j < block_end; ++j) w[j] -= error * u[j];
    }
  }

  // Updates the columns to the right of a block.
  void push_right(Index begin, Index end) {
    const Index right = in_ - end;
    if (right == 0) return;
    const auto push = [&](Index r0, Index r1) {
      add_transposed_product(r1 - r0, right, end - begin, negated_errors_.row(0) + r0, w_.rows,
                             upper_.data() + begin * in_ + end, in_, w_.row(r0) + end, in_);
    };
    for_row_blocks(w_.rows, push, product_block(w_.rows));
  }

  Matrix<T>& w_;
  const Chooser& chooser_;
  Index in_;
  std::vector<T> upper_;  // [in, in]: U with U^T U the inverse Gram matrix
  Kept kept_;
  Matrix<T> negated_errors_;  // of the columns of a block [columns, rows]
};

}  // namespace

template <class T>
Kept prune_by_sparsegpt(Matrix<T>& w, const Gram<T>& gram, const Chooser& chooser) {
  return Sweep<T>(w, gram, chooser).run();
}

template Kept prune_by_sparsegpt(Matrix<float>&, const Gram<float>&, const Chooser&);
template Kept prune_by_sparsegpt(Matrix<double>&, const Gram<double>&, const Chooser&);

}  // namespace sten::calibrate
