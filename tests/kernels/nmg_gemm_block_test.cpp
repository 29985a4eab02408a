// Products of n:m:g by blocks of threads, as a GPU runs them.
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

template <int n, int m>
void check_rows() {
  const auto table = PatternTable::get(n, m);
  REQUIRE(kernels::nmg_pattern_count(n, m) == table->count());
  for (int p = 0; p < table->count(); ++p)
    for (int i = 0; i < n; ++i) CHECK(kernels::nmg_pattern_row(n, m, p, i) == (*table)[p][i]);
}

}  // namespace

TEST_CASE("patterns are the same when compiling") {
  check_rows<2, 4>();
  check_rows<1, 1>();
  check_rows<3, 7>();
  check_rows<4, 8>();
  check_rows<5, 6>();
}

TEST_CASE("a grid of blocks multiplies n:m:g by B in the order that is promised") {
  Dice dice(1);
  kernels::SerialGrid grid;
  for (int round = 0; round < shapes_to_try(5); ++round)  // of each format
    for (const ProductFormat f : product_formats()) {
      const ProductCase x = any_case(dice, f, 4 * f.m, 300);
      const std::vector<float> c = product(grid, x);
      if (!is_same(c, in_order(x))) FAIL_CHECK(x.text() << ": other bits");
      if (!is_near(c, x)) FAIL_CHECK(x.text() << ": not the product");
    }
}

TEST_CASE("products of nothing write nothing, or zeros") {
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

TEST_CASE("threads of a product do not depend on their order") {
  Dice dice(3);
  for (const ProductFormat f : product_formats()) {
    if (f.m > 20) continue;
    const ProductCase x = any_case(dice, f, 3 * f.m, 200);
    kernels::CheckedGrid grid(static_cast<std::uint64_t>(f.m));
    if (!is_same(product(grid, x), in_order(x))) FAIL_CHECK(x.text() << ": other bits");
    if (!grid.reports().empty()) FAIL_CHECK(x.text() << ": " << grid.reports().front());
  }
}

TEST_CASE("blocks get as many row blocks as keep all processors busy") {
  // 768 rows by 4096 columns, 1:10 and 1:20, on 132 processors: 128 blocks each.
  CHECK(kernels::nmg_gemm_row_blocks(77, 32, 132, 20) == 20);
  CHECK(kernels::nmg_gemm_row_blocks(39, 32, 132, 16) == 10);
  // 4096 rows of 1:10: 6 turns of 132 blocks, 93 % of them full.
  CHECK(kernels::nmg_gemm_row_blocks(410, 32, 132, 20) == 18);
  CHECK(kernels::nmg_gemm_row_blocks(77, 1, 132, 20) == 1);
  CHECK(kernels::nmg_gemm_row_blocks(1, 1, 132, 20) == 1);
}
