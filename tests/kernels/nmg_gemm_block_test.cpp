// SPDX-License-Identifier: Apache-2.0
// Products of n:m:g over grids, as on a GPU.
#include <doctest/doctest.h>

#include "kernels/block/checked_grid.h"
#include "kernels/block/product/nmg_products.h"
#include "tests/kernels/product_case.h"
#include "tests/support/laws.h"

using namespace sten;
using namespace sten::testing;

namespace {

template <class Grid>
std::vector<float> product(Grid& grid, const ProductCase& x) {
  std::vector<float> c(x.skew + x.rows * x.ldc, untouched);
  kernels::nmg_gemm(grid, x.format(), x.a.values.as<float>().data(), x.a.index.bytes().data(),
                    x.operands(c.data() + x.skew));
  return c;
}

// Checks C = A^T D for a random D against sums in ascending order of A's rows.
template <class Grid>
void check_transposed(Grid& grid, Dice& dice, const ProductCase& x) {
  std::vector<float> d(x.skew + x.rows * x.ldb), c(x.skew + x.cols * x.ldc, untouched), want = c;
  for (float& v : d) v = static_cast<float>(dice.normal());
  const kernels::NmgFormat format = x.format();
  const kernels::ProductOperands of{
      x.cols, x.rows, x.n, d.data() + x.skew, x.ldb, c.data() + x.skew, x.ldc};
  const bool is_done = kernels::NmgGemm<Grid>{grid, format, x.a.values.template as<float>().data(),
                                              x.a.index.bytes().data(), of}
                           .run_transposed();
  CHECK(is_done == (x.f.n == 1 && x.f.m * x.f.g <= 256));
  if (!is_done) {
    CHECK(is_same(c, want));
    return;
  }
  const std::vector<float> a = floats(x.a.to_dense());
  for (Index k = 0; k < x.cols; ++k)
    for (Index j = 0; j < x.n; ++j) {
      float sum = 0;
      for (Index r = 0; r < x.rows; ++r)
        if (const float v = a[r * x.cols + k]; v != 0)
          sum = std::fmaf(v, d[x.skew + r * x.ldb + j], sum);
      want[x.skew + k * x.ldc + j] = sum;
    }
  if (!is_same(c, want)) FAIL_CHECK(x.text() << ": other bits");
}

template <int n, int m>
void check_rows() {
  const auto table = PatternTable::get(n, m);
  REQUIRE(kernels::nmg_pattern_count(n, m) == table->count());
  for (int p = 0; p < table->count(); ++p)
    for (int i = 0; i < n; ++i) CHECK(kernels::nmg_pattern_row(n, m, p, i) == (*table)[p][i]);
}

}  // namespace

TEST_CASE("constexpr patterns match the pattern table") {
  check_rows<2, 4>();
  check_rows<1, 1>();
  check_rows<3, 7>();
  check_rows<4, 8>();
  check_rows<5, 6>();
}

TEST_CASE("n:m:g block products are bit-identical to sums in the documented order") {
  Dice dice(1);
  kernels::SerialGrid grid;
  for (int round = 0; round < shapes_to_try(5); ++round)  // per format
    for (const ProductFormat f : product_formats()) {
      const ProductCase x = any_case(dice, f, 4 * f.m, 300);
      const std::vector<float> c = product(grid, x);
      if (!is_same(c, in_order(x))) FAIL_CHECK(x.text() << ": other bits");
      if (!is_near(c, x)) FAIL_CHECK(x.text() << ": not the product");
    }
}

TEST_CASE("transposed n:m:g block products are bit-identical to sums in ascending row order") {
  Dice dice(4);
  kernels::SerialGrid grid;
  for (int round = 0; round < shapes_to_try(5); ++round)
    for (const ProductFormat f : product_formats())
      check_transposed(grid, dice, any_case(dice, f, 12 * f.m, 300));
  // More rows than a slab has, and more columns than a block.
  for (const ProductFormat f : {ProductFormat{1, 8, 4}, ProductFormat{1, 10, 4}})
    check_transposed(grid, dice, ProductCase(dice, f, 700, 500, 140));
}

TEST_CASE("n:m:g block products of empty operands write zeros or nothing") {
  Dice dice(2);
  kernels::SerialGrid grid;
  for (const ProductFormat f :
       {ProductFormat{1, 10, 4}, ProductFormat{2, 4, 2}, ProductFormat{1, 3, 2}}) {
    ProductCase x(dice, f, 25, 90, 8);
    x.n = 0;
    for (const float v : product(grid, x)) CHECK(v == untouched);
    x.n = 8, x.cols = 0;
    for (Index r = 0; r < x.rows; ++r)
      for (Index j = 0; j < x.n; ++j) CHECK(product(grid, x)[x.skew + r * x.ldc + j] == 0.0f);
  }
}

TEST_CASE("n:m:g block products do not depend on the order of threads") {
  Dice dice(3);
  for (const ProductFormat f : product_formats()) {
    if (f.m > 20) continue;
    const ProductCase x = any_case(dice, f, 3 * f.m, 200);
    kernels::CheckedGrid grid(static_cast<std::uint64_t>(f.m));
    if (!is_same(product(grid, x), in_order(x))) FAIL_CHECK(x.text() << ": other bits");
    check_transposed(grid, dice, x);
    if (!grid.reports().empty()) FAIL_CHECK(x.text() << ": " << grid.reports().front());
  }
}

TEST_CASE("the number of row blocks per block keeps all processors busy") {
  // 768 rows by 4096 columns, 1:10 and 1:20, on 132 processors: 128 blocks each.
  CHECK(kernels::nmg_gemm_row_blocks(77, 32, 132, 20) == 20);
  CHECK(kernels::nmg_gemm_row_blocks(39, 32, 132, 16) == 10);
  // 4096 rows of 1:10: 6 waves of 132 blocks, 93 % of them full.
  CHECK(kernels::nmg_gemm_row_blocks(410, 32, 132, 20) == 18);
  CHECK(kernels::nmg_gemm_row_blocks(77, 1, 132, 20) == 1);
  CHECK(kernels::nmg_gemm_row_blocks(1, 1, 132, 20) == 1);
}
