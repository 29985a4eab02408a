// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>

#include "libsten/compute/ops/common/operators.h"
#include "tests/ops/operands.h"

using namespace sten;
using namespace sten::testing;

namespace {

using List = Attributes::List;

const std::byte* memory(const Tensor& x) { return x.as<Dense>().values.bytes().data(); }

// Element by element.
Dense plain_transpose(const Dense& x, const List& axes) {
  Shape shape, strides(x.extents.size(), 1);
  for (std::size_t d = strides.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * x.extents[d + 1];
  for (const Index a : axes) shape.push_back(x.extents[a]);
  Dense y = Dense::zeros(x.dtype(), shape);
  for (Index i = 0; i < y.size(); ++i) {
    Index from = 0, rest = i;
    for (std::size_t d = shape.size(); d-- > 0;) {
      from += rest % shape[d] * strides[axes[d]];
      rest /= shape[d];
    }
    y.values.put(i, x.values, from);
  }
  return y;
}

}  // namespace

TEST_CASE("reshape shares the values of its input") {
  const Tensor x = rising({2, 6});
  const Tensor y = reshape(x, {3, -1});
  CHECK(y.shape() == Shape{3, 4});
  CHECK(memory(y) == memory(x));
  CHECK(reshape(tensor({1, 1}, {7}), {}).shape() == Shape{});
  CHECK(reshape(tensor({}, {7}), {1, -1}).shape() == Shape{1, 1});
  CHECK(reshape(tensor({0, 3}, {}), {3, 0}).shape() == Shape{3, 0});
}

TEST_CASE("transpose swaps the last two axes or permutes all axes") {
  CHECK(is(transpose(rising({2, 3})), tensor({3, 2}, {0, 3, 1, 4, 2, 5})));
  CHECK(is(transpose(rising({2, 1, 2}), {-1, 0, 1}), tensor({2, 2, 1}, {0, 2, 1, 3})));
  const Tensor x = rising({1, 4, 1, 3});
  CHECK(memory(transpose(x, {2, 1, 0, 3})) == memory(x));
}

TEST_CASE("transpose matches an element-by-element reference for any dtype and axes") {
  Dice dice(8);
  for (const DType dtype : {DType::F32, DType::F64, DType::BF16, DType::I64, DType::U8})
    for (Shape shape : {Shape{5, 3, 4, 2}, Shape{2, 37, 3, 65}, Shape{1, 70, 1, 33}}) {
      List axes{0, 1, 2, 3};
      const Dense x = any_bits(dice, dtype, shape);
      do {
        CAPTURE(to_string(axes));
        CHECK(same_bits(transpose(Tensor(x), axes).to_dense(), plain_transpose(x, axes)));
      } while (std::next_permutation(axes.begin(), axes.end()));
    }
}

TEST_CASE("concat joins tensors along an axis, and slice extracts a range of one") {
  const Tensor a = tensor({2, 1}, {1, 2}), b = tensor({2, 2}, {3, 4, 5, 6});
  CHECK(is(concat(std::vector<Tensor>{a, b, a}, 1), tensor({2, 4}, {1, 3, 4, 1, 2, 5, 6, 2})));
  CHECK(is(concat(std::vector<Tensor>{b, b}), tensor({4, 2}, {3, 4, 5, 6, 3, 4, 5, 6})));
  CHECK(is(concat(std::vector<Tensor>{b}), b));
  CHECK(is(slice(b, 1, 1, 2), tensor({2, 1}, {4, 6})));
  CHECK(is(slice(rising({4, 2}), 0, 1, 3), tensor({2, 2}, {2, 3, 4, 5})));
  CHECK(slice(b, 0, 1, 1).shape() == Shape{0, 2});
  // Without an end, the slice extends to the last element.
  CHECK(is(apply("slice", {rising({4})}, Attributes().set("begin", 3)), tensor({1}, {3})));
}

TEST_CASE("the gradient of slice is 0 outside the slice, and concat splits its gradient") {
  Tape tape;
  const Var a = tape.parameter(rising({2, 1})), b = tape.parameter(rising({2, 2}));
  const Var y = slice(concat(std::vector<Var>{a, b}, 1), 1, 0, 2);
  tape.backward(y, tensor({2, 2}, {1, 2, 3, 4}));
  CHECK(is(*a.grad(), tensor({2, 1}, {1, 3})));
  CHECK(is(*b.grad(), tensor({2, 2}, {2, 0, 4, 0})));
}

TEST_CASE("reshape, transpose, concat and slice reject mismatched shapes and axes") {
  const Tensor x = rising({2, 6});
  CHECK(error_of([&] {
          reshape(x, {5, -1});
        }) == "reshape: x [2, 6] does not fit the shape [5, -1]");
  CHECK(error_of([&] { reshape(x, {2, 5}); }) == "reshape: x [2, 6] does not fit the shape [2, 5]");
  CHECK(error_of([&] {
          reshape(x, {-1, -1});
        }) == "reshape: the shape [-1, -1] has more than one -1, or another negative extent");
  CHECK(error_of([&] { apply("reshape", {x}); }) == "reshape: missing attribute 'shape'");
  CHECK(error_of([&] {
          transpose(x, {0, 0});
        }) == "transpose: axes must be a permutation of the axes of x [2, 6], got [0, 0]");
  CHECK(error_of([&] { transpose(x, {0}); }) ==
        "transpose: axes must be a permutation of the axes of x [2, 6], got [0]");
  CHECK(error_of([&] { transpose(rising({3})); }) ==
        "transpose: x must have 2 or more axes, got [3]");
  CHECK(error_of([&] {
          concat(std::vector<Tensor>{x, rising({2, 5})});
        }) == "concat: shapes [2, 6] and [2, 5] cannot be concatenated along axis 0");
  CHECK(error_of([&] { concat(std::vector<Tensor>{}); }) == "concat: expected inputs, got none");
  CHECK(error_of([&] { slice(x, 1, 4, 7); }) == "slice: x [2, 6] has no range [4, 7) along axis 1");
}
