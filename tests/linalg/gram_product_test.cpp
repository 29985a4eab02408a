// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/linalg/gram_product.h"

#include <doctest/doctest.h>

#include <cmath>

#include "libsten/compute/linalg/dense_gemm.h"
#include "tests/linalg/random_values.h"

using namespace sten;
using testing::random_values;

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

TEST_CASE("sums of products of columns are those of the formula, by every library") {
  std::vector<DenseLibrary> libraries = dense_libraries();
  libraries.push_back(own_loop());
  for (const DenseLibrary& library : libraries) {
    const UseDenseLibrary use(library);
    for (const auto& size :
         {std::pair<Index, Index>{0, 3}, {1, 1}, {40, 191}, {7, 192}, {33, 193}, {20, 400}}) {
      const Index rows = size.first, n = size.second;
      CAPTURE(library.name);
      CAPTURE(n);
      const std::vector<float> a = random_values(1, 2 * rows * n),
                               b = random_values(2, 2 * rows * n);
      std::vector<float> gram(n * n), cross(n * n);
      for (int half = 0; half < 2; ++half) {
        add_gram(rows, n, a.data() + half * rows * n, gram.data());
        add_cross_product(rows, n, a.data() + half * rows * n, b.data() + half * rows * n,
                          cross.data());
      }
      mirror_gram(n, gram.data());
      CHECK(difference(2 * rows, n, a, a, gram) <= 1e-5);
      CHECK(difference(2 * rows, n, a, b, cross) <= 1e-5);
      double trace = 0;
      for (Index r = 0; r < rows; ++r)
        for (Index i = 0; i < n; ++i)
          for (Index j = 0; j < n; ++j)
            trace += static_cast<double>(b[r * n + i]) * gram[i * n + j] * b[r * n + j];
      CHECK(quadratic_trace(rows, n, b.data(), gram.data()) ==
            doctest::Approx(trace).epsilon(1e-5));
    }
  }
}
