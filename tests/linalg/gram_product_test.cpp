// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/linalg/gram_product.h"

#include <doctest/doctest.h>

#include <cmath>

#include "libsten/compute/linalg/dense_gemm.h"
#include "tests/linalg/random_values.h"

using namespace sten;
using testing::random_values;

TEST_CASE("the trace of A G A^T matches the formula with every dense library") {
  std::vector<DenseLibrary> libraries = dense_libraries();
  libraries.push_back(own_loop());
  for (const DenseLibrary& library : libraries) {
    const UseDenseLibrary use(library);
    for (const auto& size :
         {std::pair<Index, Index>{0, 3}, {1, 1}, {40, 191}, {7, 192}, {33, 193}, {20, 400}}) {
      const Index rows = size.first, n = size.second;
      CAPTURE(library.name);
      CAPTURE(n);
      const std::vector<float> a = random_values(1, rows * n);
      std::vector<float> gram = random_values(2, n * n);
      mirror_gram(n, gram.data());
      double trace = 0;
      for (Index r = 0; r < rows; ++r)
        for (Index i = 0; i < n; ++i)
          for (Index j = 0; j < n; ++j)
            trace += static_cast<double>(a[r * n + i]) * gram[i * n + j] * a[r * n + j];
      CHECK(std::abs(quadratic_trace(rows, n, a.data(), gram.data()) - trace) <= 1e-3);
    }
  }
}
