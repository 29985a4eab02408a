// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/linalg/blocked_inverse.h"

#include <algorithm>
#include <vector>

#include "libsten/compute/linalg/block_pairs.h"
#include "libsten/compute/linalg/gram_product.h"
#include "libsten/core/base/array.h"
#include "libsten/core/base/parallel.h"

namespace sten {
namespace {

constexpr Index block_size = 512;

// The matrix as blocks of rows and columns. Above the diagonal are blocks of U = L^T; below it, and
// in the blocks on it, those of X = L^-1.
class Blocks {
 public:
  Blocks(Index n, float* a) : n_(n), a_(a) {}

  Index count() const { return ceil_div(n_, block_size); }

  bool factor() {
    for (Index k = 0; k < count(); ++k) {
      if (!factor_diagonal(k)) return false;
      multiply_row(k);
      subtract_squares(k);
    }
    return true;
  }

  // X_kj = -X_kk sum_i U_ik^T X_ij, by rows k.
  void invert() {
    for (Index k = 1; k < count(); ++k) {
      const std::vector<float> left = transposed_diagonal(k, -1);
      parallel_for(k, 1, [&](Index first, Index last) {
        for (Index j = first; j < last; ++j) {
          std::vector<float> sum(size(k) * size(j));
          add_transposed_product(size(k), size(j), at(k) - at(j), block(j, k), n_, block(j, j), n_,
                                 sum.data(), size(j));
          clear(k, j);
          add_transposed_product(size(k), size(j), size(k), left.data(), size(k), sum.data(),
                                 size(j), block(k, j), n_);
        }
      });
    }
  }

  // The blocks above the diagonal get those of X^T X; then the blocks on it, whose X is needed for
  // the others.
  void square() {
    parallel_for_pairs(0, count(), [&](Index i, Index j) {
      if (i == j) return;
      clear(i, j);
      add_squares(i, j, block(i, j), n_);
    });
    parallel_for(count(), 1, [&](Index first, Index last) {
      for (Index i = first; i < last; ++i) {
        std::vector<float> sum(size(i) * size(i));
        add_squares(i, i, sum.data(), size(i));
        for (Index r = 0; r < size(i); ++r)
          std::copy_n(sum.data() + r * size(i), size(i), block(i, i) + r * n_);
      }
    });
    mirror_gram(n_, a_);
  }

 private:
  static Index at(Index k) { return k * block_size; }
  Index size(Index k) const { return std::min(block_size, n_ - at(k)); }
  float* block(Index i, Index j) const { return a_ + at(i) * n_ + at(j); }

  void clear(Index i, Index j) const {
    for (Index r = 0; r < size(i); ++r) std::fill_n(block(i, j) + r * n_, size(j), 0.0F);
  }

  // Replaces a block on the diagonal by the inverse of its factor, with zeros above the diagonal.
  bool factor_diagonal(Index k) const {
    const Index m = size(k);
    std::vector<float> own(m * m);
    for (Index r = 0; r < m; ++r) std::copy_n(block(k, k) + r * n_, m, own.data() + r * m);
    if (!factor_cholesky(m, own.data()) || !invert_triangle(m, own.data())) return false;
    for (Index r = 0; r < m; ++r) {
      std::fill(own.begin() + r * m + r + 1, own.begin() + (r + 1) * m, 0.0F);
      std::copy_n(own.data() + r * m, m, block(k, k) + r * n_);
    }
    return true;
  }

  std::vector<float> transposed_diagonal(Index k, float by) const {
    const Index m = size(k);
    std::vector<float> t(m * m);
    for (Index r = 0; r < m; ++r)
      for (Index c = 0; c <= r; ++c) t[c * m + r] = by * block(k, k)[r * n_ + c];
    return t;
  }

  // U_kj = X_kk A_kj.
  void multiply_row(Index k) const {
    const std::vector<float> left = transposed_diagonal(k, 1);
    parallel_for(count() - k - 1, 1, [&](Index first, Index last) {
      for (Index j = k + 1 + first; j < k + 1 + last; ++j) {
        std::vector<float> right(size(k) * size(j));
        for (Index r = 0; r < size(k); ++r)
          std::copy_n(block(k, j) + r * n_, size(j), right.data() + r * size(j));
        clear(k, j);
        add_transposed_product(size(k), size(j), size(k), left.data(), size(k), right.data(),
                               size(j), block(k, j), n_);
      }
    });
  }

  // A_ij -= U_ki^T U_kj for the blocks that are left.
  void subtract_squares(Index k) const {
    if (k + 1 == count()) return;
    const Index from = at(k + 1), width = n_ - from;
    auto minus = Array<float>::uninitialized(size(k) * width);
    float* to = minus.mutate();
    for (Index r = 0; r < size(k); ++r)
      for (Index c = 0; c < width; ++c) to[r * width + c] = -block(k, k + 1)[r * n_ + c];
    parallel_for_pairs(k + 1, count(), [&](Index i, Index j) {
      add_transposed_product(size(i), size(j), size(k), minus.data() + at(i) - from, width,
                             block(k, j), n_, block(i, j), n_);
    });
  }

  // Adds sum_k X_ki^T X_kj, where X_kj is 0 for k < j.
  void add_squares(Index i, Index j, float* to, Index ld) const {
    add_transposed_product(size(i), size(j), n_ - at(j), block(j, i), n_, block(j, j), n_, to, ld);
  }

  Index n_;
  float* a_;
};

// Factors A = L L^T and replaces the lower triangle by L^-1.
bool invert_factor(Blocks& blocks) {
  if (!blocks.factor()) return false;
  blocks.invert();
  return true;
}

}  // namespace

bool factor_of_inverse(Index n, float* a) {
  // In reverse order of rows and columns, U is a lower triangle.
  std::reverse(a, a + n * n);
  Blocks blocks(n, a);
  if (!invert_factor(blocks)) return false;
  std::reverse(a, a + n * n);
  return true;
}

bool invert_positive(Index n, float* a) {
  Blocks blocks(n, a);
  if (!invert_factor(blocks)) return false;
  blocks.square();
  return true;
}

}  // namespace sten
