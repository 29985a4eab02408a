// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/calibrate/sparsegpt.h"

#include "libsten/compute/linalg/blocked_inverse.h"
#include "libsten/compute/linalg/gram_product.h"

namespace sten::calibrate {
namespace {

constexpr Index usual_block = 128;  // columns

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
    for (Index j = 0; j < in_; ++j)
      if (gram.plain()[j * in_ + j] == 0) {  // an input that is always 0
        upper_[j * in_ + j] = 1;
        for (Index r = 0; r < w.rows; ++r) w.row(r)[j] = 0;
      }
    if (!factor_of_inverse(in_, upper_.data())) fail_not_positive();
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
  std::vector<T> upper_;  // [in, in]: the factor of the inverse Gram matrix
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
