// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/tensor/matrix_view.h"

#include <doctest/doctest.h>

#include <set>

#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("without dims, dimension 0 gives the rows and all other dimensions the columns") {
  const MatrixView v = MatrixView::of({4, 3, 5});
  CHECK((v.rows == 4 && v.cols == 15 && v.batches == 1));
  CHECK((v.row_stride == 15 && v.col_stride == 1));
  CHECK(v.batch.empty());
  CHECK(v.row_offset(2) == 30);
  CHECK(v.part({7}) == Shape{7});
}

TEST_CASE("transposing exchanges rows and columns") {
  const MatrixView v = MatrixView::of({4, 6}, {}, true);
  CHECK((v.rows == 6 && v.cols == 4 && v.row_stride == 1 && v.col_stride == 6));
}

TEST_CASE("dimensions that dims does not name become leading batch dimensions") {
  const MatrixView experts = MatrixView::of({2, 3, 4}, Dims::parse("1.2"));
  CHECK((experts.rows == 3 && experts.cols == 4 && experts.batches == 2));
  CHECK(experts.part({9}) == Shape{2, 9});
  CHECK(experts.batch_offset(1) == 12);
  CHECK(experts.row_offset(4) == 12 + 4);

  const MatrixView in_out = MatrixView::of({3, 4}, Dims::parse("1.0"));
  CHECK((in_out.rows == 4 && in_out.cols == 3));
  CHECK((in_out.row_stride == 1 && in_out.col_stride == 4));

  const MatrixView four = MatrixView::of({2, 3, 4, 5}, Dims::parse("3.1"));
  CHECK(four.batch == Shape{2, 4});
  CHECK((four.rows == 5 && four.cols == 3 && four.batches == 8));
  CHECK(four.batch_offset(5) == 60 + 5);  // batch (1, 1)
  CHECK((four.row_stride == 1 && four.col_stride == 20));
}

TEST_CASE("a matrix view with any dims reaches every element exactly once") {
  const Shape shape{2, 3, 4, 5};
  for (Index row = 0; row < 4; ++row)
    for (Index col = 0; col < 4; ++col) {
      if (row == col) continue;
      for (bool transposed : {false, true}) {
        const MatrixView v = MatrixView::of(shape, {row, col}, transposed);
        CHECK(v.rows == shape[transposed ? col : row]);
        std::set<Index> seen;
        for (Index l = 0; l < v.batches * v.rows; ++l)
          for (Index c = 0; c < v.cols; ++c) seen.insert(v.row_offset(l) + c * v.col_stride);
        CHECK(seen.size() == 120);
        CHECK(*seen.begin() == 0);
        CHECK(*seen.rbegin() == 119);
      }
    }
}

TEST_CASE("empty tensors have a matrix view") {
  CHECK(MatrixView::of({0, 5}).rows == 0);
  CHECK(MatrixView::of({5, 0}).cols == 0);
  CHECK(MatrixView::of({0, 3, 4}, Dims::parse("1.2")).batches == 0);
}

TEST_CASE("dims that do not name two dimensions of the tensor are rejected") {
  for (const char* wrong : {"", "1", "1.", ".1", "1.1", "-1.0", "0.-1", "1.2.3", "a.b", "1,2"})
    if (fault_of([&] { Dims::parse(wrong); }) != Fault::usage) FAIL_CHECK("dims=" << wrong);
  CHECK(Dims::parse("10.2").str() == "10.2");
  CHECK_FALSE(Dims{}.given());
  CHECK(has(error_of([] { MatrixView::of({2, 3}, Dims::parse("1.2")); }), "dims=1.2"));
  CHECK(has(error_of([] { MatrixView::of({2, 3}, Dims::parse("7.0")); }), "[2, 3]"));
  CHECK(has(error_of([] { MatrixView::of({5}); }), "rank 1"));
  CHECK(has(error_of([] { MatrixView::of({}); }), "rank 0"));
}
