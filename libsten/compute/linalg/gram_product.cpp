// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/linalg/gram_product.h"

#include <algorithm>
#include <numeric>

#include "libsten/compute/linalg/block_pairs.h"
#include "libsten/compute/linalg/dense_gemm.h"

namespace sten {
namespace {

constexpr Index block = product_rows;  // columns of a product

std::vector<float> columns(const float* m, Index rows, Index ld, Index count) {
  std::vector<float> part(rows * count);
  for (Index r = 0; r < rows; ++r) std::copy_n(m + r * ld, count, part.data() + r * count);
  return part;
}

void add_columns(const DenseLibrary& library, Index m, Index n, Index k, const float* a, Index lda,
                 const float* b, Index ldb, float* c, Index ldc) {
  if (library.add_columns) return library.add_columns(m, n, k, a, lda, b, ldb, c, ldc);
  const std::vector<float> left = columns(a, k, lda, m);
  std::vector<float> product;
  for (Index j = 0; j < n; j += block) {
    const Index width = std::min(block, n - j);
    const std::vector<float> right = columns(b + j, k, ldb, width);
    product.resize(m * width);
    library.multiply(Transpose::a, m, width, k, left.data(), right.data(), product.data(), 1);
    for (Index r = 0; r < m; ++r)
      for (Index i = 0; i < width; ++i) c[r * ldc + j + i] += product[r * width + i];
  }
}

// The sum of f(i, j) over all blocks on the diagonal or right of it, added in order.
template <class F>
double sum_of_block_pairs(Index count, const F& f) {
  std::vector<double> sums(count * (count + 1) / 2);
  parallel_for_pairs(
      0, count, [&](Index i, Index j) { sums[i * count - i * (i - 1) / 2 + j - i] = f(i, j); });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace

void add_transposed_product(Index m, Index n, Index k, const float* a, Index lda, const float* b,
                            Index ldb, float* c, Index ldc) {
  if (m > 0 && n > 0 && k > 0) add_columns(dense_library(), m, n, k, a, lda, b, ldb, c, ldc);
}

void mirror_gram(Index n, float* c) {
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < i; ++j) c[i * n + j] = c[j * n + i];
}

double quadratic_trace(Index rows, Index n, const float* a, const float* gram) {
  if (rows == 0) return 0;
  const DenseLibrary& library = dense_library();
  // Large blocks are faster; small ones keep more threads busy.
  const Index size = n < 8 * 512 ? block : 512;
  return sum_of_block_pairs(ceil_div(n, size), [&](Index left, Index right) {
    // A block of A^T A.
    const Index i = left * size, j = right * size, m = std::min(size, n - i),
                width = std::min(size, n - j);
    std::vector<float> products(m * width);
    add_columns(library, m, width, rows, a + i, n, a + j, n, products.data(), width);
    double sum = 0;
    for (Index r = 0; r < m; ++r)
      for (Index c = 0; c < width; ++c)
        sum += static_cast<double>(products[r * width + c]) * gram[(i + r) * n + j + c];
    return i == j ? sum : 2 * sum;
  });
}

}  // namespace sten
