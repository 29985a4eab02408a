// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/linalg/blocked_inverse.h"

#include <doctest/doctest.h>

#include <vector>

#include "libsten/core/base/parallel.h"
#include "tests/linalg/random_values.h"
#include "tests/support/tensors.h"

using namespace sten;

TEST_CASE("Cholesky factors, solutions and inverses match their definition") {
  const std::vector<double> a = {4, 2, 0.4, 2, 5, 1, 0.4, 1, 3};
  std::vector<double> l = a, x = {1, 2, 3, -1, 0, 4}, inverse = a, r = a;
  const std::vector<double> b = x;
  REQUIRE(factor_cholesky(3, l.data()));
  solve_cholesky(3, l.data(), 2, x.data());
  REQUIRE(invert_positive(3, inverse.data()));
  REQUIRE(factor_of_inverse(3, r.data()));
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
  CHECK_FALSE(factor_of_inverse(2, indefinite.data()));
}

TEST_CASE(
    "blocked inverses match their definition and are bit-identical on any number of threads") {
  // The last block has 76 rows.
  constexpr Index n = 1100, terms = 60;
  const std::vector<float> v = testing::random_values(3, terms * n);
  std::vector<float> a(n * n);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) {
      double sum = i == j ? 2 : 0;
      for (Index t = 0; t < terms; ++t) sum += static_cast<double>(v[t * n + i]) * v[t * n + j];
      a[i * n + j] = static_cast<float>(sum);
    }
  std::vector<float> inverse = a, r = a;
  REQUIRE(invert_positive(n, inverse.data()));
  REQUIRE(factor_of_inverse(n, r.data()));
  for (const int team : {1, 3}) {
    CAPTURE(team);
    const testing::Threads threads(team);
    std::vector<float> again = a, factored = a;
    REQUIRE(invert_positive(n, again.data()));
    REQUIRE(factor_of_inverse(n, factored.data()));
    CHECK(again == inverse);
    bool are_equal = true;  // upper triangles
    for (Index i = 0; i < n; ++i)
      are_equal &= std::equal(&r[i * n + i], r.data() + (i + 1) * n, &factored[i * n + i]);
    CHECK(are_equal);
  }
  for (const Index i : {Index{0}, Index{511}, Index{512}, Index{700}, n - 1})
    for (const Index k : {Index{0}, Index{512}, Index{1000}, n - 1}) {
      double sum = 0, of_factor = 0;
      for (Index j = 0; j < n; ++j) sum += static_cast<double>(a[i * n + j]) * inverse[j * n + k];
      for (Index j = 0; j <= std::min(i, k); ++j)
        of_factor += static_cast<double>(r[j * n + i]) * r[j * n + k];
      CHECK(sum == doctest::Approx(i == k).epsilon(1e-4).scale(1));
      CHECK(of_factor == doctest::Approx(inverse[i * n + k]).epsilon(1e-4).scale(0.1));
    }
  // Not positive definite, in the second block only; one of the functions reverses the order.
  std::vector<float> indefinite = a;
  indefinite[600 * n + 600] = -1;
  CHECK_FALSE(invert_positive(n, indefinite.data()));
  a[100 * n + 100] = -1;
  CHECK_FALSE(factor_of_inverse(n, a.data()));
}
