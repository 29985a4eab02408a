// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/sparsify/row_permutation.h"

#include <doctest/doctest.h>

#include <numeric>

#include "libsten/core/sparsify/balanced_groups.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

NmgvFit fit_of(Index n, Index m, Index g, Index axis, Index v, Index w) {
  Spec spec("nmgv");
  spec.set("n", n).set("m", m).set("g", g).set("v", v).set("w", w).set("axis", axis);
  return NmgvFit::make(spec);
}

double magnitude(const Dense& x, const Mask* keep = nullptr) {
  double sum = 0;
  for (Index i = 0; i < x.size(); ++i)
    if (!keep || (*keep)[i]) sum += std::abs(x.values.as<float>()[i]);
  return sum;
}

Dense with_rows(const Dense& x, const std::vector<Index>& rows) {
  Dense out = Dense::zeros(DType::F32, x.extents);
  const Index cols = x.extents[1];
  for (Index r = 0; r < x.extents[0]; ++r)
    std::copy_n(x.values.as<float>().begin() + rows[r] * cols, cols,
                out.values.mutate<float>().begin() + r * cols);
  return out;
}

Dense random_matrix(Index rows, Index cols, Index seed) {
  Dice dice(static_cast<std::uint64_t>(seed));
  return normals(dice, {rows, cols});
}

}  // namespace

TEST_CASE("rows with large values in the same columns are placed in the same tiles") {
  const Dense x = Dense::of({4, 4}, {9, 0, 8, 1,  //
                                     0, 7, 1, 9,  //
                                     8, 1, 9, 0,  //
                                     1, 9, 0, 8});
  for (const Index axis : {0, 1}) {
    const RowPermutation o = row_permutation(x, fit_of(1, 2, 1, axis, 2, 1));
    CHECK(std::abs(o.rows[0] - o.rows[1]) == 2);
    CHECK(o.before < 0.65);
    CHECK(o.after == doctest::Approx(67.0 / 71));
    CHECK(o.moves());
  }
}

TEST_CASE("a row permutation is valid, keeps the energy it reports, and never reduces energy") {
  for (const Shape& shape : {Shape{48, 32}, {37, 29}, {5, 70}})
    for (const Index axis : {0, 1})
      for (const Index n : {1, 2})
        for (const Index v : {1, 4, 8}) {
          const Dense x = random_matrix(shape[0], shape[1], 7 + shape[0] + v);
          const NmgvFit fit = fit_of(n, 4, 2, axis, v, 2);
          const RowPermutation o = row_permutation(x, fit);
          CAPTURE(shape[0]);
          CAPTURE(axis);
          CAPTURE(v);
          REQUIRE(std::is_permutation(
              o.rows.begin(), o.rows.end(),
              row_permutation(Dense::zeros(DType::F32, x.extents), fit).rows.begin()));
          const auto kept = [&](const Dense& y) {
            const Mask keep = fit.select(y, {});
            return magnitude(y, &keep) / magnitude(x);
          };
          const Dense y = with_rows(x, o.rows);
          CHECK(kept(x) == doctest::Approx(o.before).epsilon(1e-5));
          CHECK(kept(y) == doctest::Approx(o.after).epsilon(1e-5));
          CHECK(kept(y) >= kept(x));
          if (shape[0] == 48 && v == 8) CHECK(o.after > 1.04 * o.before);
        }
}

TEST_CASE("row permutations are identical at 1 and 3 threads") {
  const Dense x = random_matrix(300, 64, 3);
  const NmgvFit fit = fit_of(1, 4, 2, 0, 8, 2);
  const auto with_threads = [&](int n) {
    const Threads some(n);
    return row_permutation(x, fit).rows;
  };
  CHECK(with_threads(1) == with_threads(3));
}

TEST_CASE("rows are not permuted if no permutation keeps more") {
  const auto stays = [](const Dense& x, const NmgvFit& fit) {
    return !row_permutation(x, fit).moves();
  };
  const Dense x = random_matrix(32, 16, 1);
  CHECK(stays(x, fit_of(2, 2, 1, 0, 4, 2)));   // everything is kept
  CHECK(stays(x, fit_of(1, 4, 1, 1, 32, 2)));  // one group
  CHECK(stays(Dense::zeros(DType::F32, {32, 16}), fit_of(1, 4, 1, 0, 4, 2)));
  CHECK(stays(Dense::zeros(DType::F32, {0, 16}), fit_of(1, 4, 1, 0, 4, 2)));
  Dense same = Dense::zeros(DType::F64, {32, 16});
  for (double& v : same.values.mutate<double>()) v = 1e300;  // beyond float
  CHECK(stays(same, fit_of(1, 4, 1, 0, 4, 2)));
}

TEST_CASE("balanced groups are within the tolerance of the best assignment") {
  for (const Index rows : {6, 5}) {
    const Index groups = 3, v = 2;
    const Dense x = random_matrix(rows, groups, 5);
    const std::vector<float> values(x.values.as<float>().begin(), x.values.as<float>().end());
    const auto worth = [&](const std::vector<Index>& group_of) {
      double sum = 0;
      for (Index r = 0; r < rows; ++r) sum += values[r * groups + group_of[r]];
      return sum;
    };
    std::vector<Index> each(rows);
    for (Index r = 0; r < rows; ++r) each[r] = r / v;
    const std::vector<Index> sizes = each;
    double best = worth(each);
    while (std::next_permutation(each.begin(), each.end())) best = std::max(best, worth(each));
    const float step = 1e-3f;
    std::vector<Index> found = balanced_groups(values, rows, groups, v, step);
    CHECK(worth(found) >= best - static_cast<double>(rows) * step - 1e-5);
    std::sort(found.begin(), found.end());
    CHECK(found == sizes);
  }
  CHECK(balanced_groups({1, 2, 3}, 3, 1, 4, 0.1f) == std::vector<Index>(3, 0));
}
