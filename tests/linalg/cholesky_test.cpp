// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/linalg/cholesky.h"

#include <doctest/doctest.h>

#include <vector>

using namespace sten;

TEST_CASE("a factor, what it solves and an inverse fit the matrix they are of") {
  const std::vector<double> a = {4, 2, 0.4, 2, 5, 1, 0.4, 1, 3};
  std::vector<double> l = a, x = {1, 2, 3, -1, 0, 4}, inverse = a, r = a;
  const std::vector<double> b = x;
  REQUIRE(factor_cholesky(3, l.data()));
  solve_cholesky(3, l.data(), 2, x.data());
  REQUIRE(invert_positive(3, inverse.data()));
  REQUIRE(factor_inverse(3, r.data()));
  for (Index i = 0; i < 3; ++i) {
    for (Index row = 0; row < 2; ++row) {
      double sum = 0;
      for (Index j = 0; j < 3; ++j) sum += a[i * 3 + j] * x[row * 3 + j];
      CHECK(sum == doctest::Approx(b[row * 3 + i]));
    }
    for (Index k = 0; k < 3; ++k) {
      double product = 0, sum = 0, of_inverse = 0;
      for (Index j = 0; j <= std::min(i, k); ++j) product += l[i * 3 + j] * l[k * 3 + j];
      for (Index j = 0; j < 3; ++j) sum += a[i * 3 + j] * inverse[j * 3 + k];
      for (Index j = 0; j <= std::min(i, k); ++j) of_inverse += r[j * 3 + i] * r[j * 3 + k];
      CHECK(product == doctest::Approx(a[i * 3 + k]));
      CHECK(of_inverse == doctest::Approx(inverse[i * 3 + k]));
      CHECK(sum == doctest::Approx(i == k ? 1 : 0));
    }
  }
  std::vector<float> indefinite = {1, 2, 2, 1};
  CHECK_FALSE(factor_cholesky(2, indefinite.data()));
  indefinite = {1, 2, 2, 1};
  CHECK_FALSE(factor_inverse(2, indefinite.data()));
}
