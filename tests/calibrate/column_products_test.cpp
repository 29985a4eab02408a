// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/calibrate/column_products.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/linalg/random_values.h"

namespace sten::testing::column_products {
namespace {

// The largest difference of c from A^T B, summed in double.
double difference(Index rows, Index n, const std::vector<float>& a, const std::vector<float>& b,
                  const std::vector<float>& c) {
  double worst = 0;
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) {
      double sum = 0;
      for (Index r = 0; r < rows; ++r) sum += static_cast<double>(a[r * n + i]) * b[r * n + j];
      worst = std::max(worst, std::abs(sum - c[i * n + j]));
    }
  return worst;
}

}  // namespace

TEST_CASE("column products match A^T A and A^T B over two batches at several sizes") {
  for (const auto& size :
       {std::pair<Index, Index>{0, 3}, {0, 130}, {1, 1}, {40, 63}, {7, 64}, {33, 193}, {20, 400}}) {
    const Index rows = size.first, n = size.second, all = 2 * rows + 1;
    CAPTURE(n);
    const std::vector<float> a = random_values(1, all * n), b = random_values(2, all * n);
    ColumnProducts grams(n, true), crosses(n, false);
    Index at = 0;
    for (const Index batch : {rows, rows + 1}) {
      const Columns left(batch, n, a.data() + at * n), right(batch, n, b.data() + at * n);
      grams.add(left, left);
      crosses.add(left, right);
      at += batch;
    }
    std::vector<float> gram(n * n), cross(n * n);
    grams.write(gram.data());
    crosses.write(cross.data());
    CHECK(difference(all, n, a, a, gram) <= 1e-5);
    CHECK(difference(all, n, a, b, cross) <= 1e-5);
  }
}

}  // namespace sten::testing::column_products
