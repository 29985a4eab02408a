// SPDX-License-Identifier: Apache-2.0
// Operators that move elements, as ONNX defines them.
#include <doctest/doctest.h>

#include "libsten/compute/ops/common/operators.h"
#include "tests/ops/operands.h"

using namespace sten;
using namespace sten::testing;

namespace {

using List = Attributes::List;

std::vector<std::int64_t> integers_of(const Tensor& x) {
  const auto v = x.as<Dense>().values.as<std::int64_t>();
  return {v.begin(), v.end()};
}

const std::byte* memory_of(const Tensor& x) { return x.as<Dense>().values.bytes().data(); }

// The element of y at [k...] is x's at source(k), element by element.
template <class F>
Dense moved(const Dense& x, const Shape& shape, F&& source) {
  Dense y = Dense::zeros(x.dtype(), shape);
  Shape k(shape.size());
  for (Index i = 0; i < y.size(); ++i) {
    Index rest = i;
    for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) k[d] = rest % shape[d];
    const Shape from = source(k);
    Index at = 0;
    for (std::size_t d = 0; d < from.size(); ++d) at = at * x.extents[d] + from[d];
    y.values.put(i, x.values, at);
  }
  return y;
}

}  // namespace

TEST_CASE("squeeze, unsqueeze and flatten share the values of their input") {
  const Tensor x = rising({1, 3, 1, 4});
  CHECK(squeeze(x).shape() == Shape{3, 4});
  CHECK(squeeze(x, {-2}).shape() == Shape{1, 3, 4});
  CHECK(unsqueeze(x, {0, -1}).shape() == Shape{1, 1, 3, 1, 4, 1});
  CHECK(flatten(x, 2).shape() == Shape{3, 4});
  CHECK(flatten(x, 0).shape() == Shape{1, 12});
  CHECK(flatten(x, -1).shape() == Shape{3, 4});
  CHECK(flatten(x, 4).shape() == Shape{12, 1});
  CHECK(flatten(rising({}), 0).shape() == Shape{1, 1});
  CHECK(memory_of(squeeze(x)) == memory_of(x));
  CHECK(memory_of(unsqueeze(x, {2})) == memory_of(x));
  CHECK(memory_of(flatten(x)) == memory_of(x));
}

TEST_CASE("reshape with copy-zeros replaces 0 in the shape by the input's extent") {
  const Attributes by = Attributes().set("shape", List{0, 0, -1}).set("copy-zeros", 1);
  CHECK(apply("reshape", {rising({2, 3, 4, 5})}, by).shape() == Shape{2, 3, 20});
  CHECK(
      error_of([&] {
        apply("reshape", {rising({6})}, Attributes().set("shape", List{2, 0}).set("copy-zeros", 1));
      }) == "reshape: x [6] has no extent for the 0 at axis 1 of the shape [2, 0]");
}

TEST_CASE("slice supports positive and negative steps and clamps out-of-range ends") {
  const Tensor x = rising({2, 4});
  CHECK(is(slice_axes(x, {1, 0}, {2, 3}, {0, 1}, {1, 2}), {1, 2}, {4, 6}));
  CHECK(is(slice_axes(x, {0, 1}, {-1, 1000}), {1, 3}, {1, 2, 3}));
  CHECK(is(slice_axes(rising({5}), {-1}, {-100}, {}, {-2}), {3}, {4, 2, 0}));
  CHECK(is(slice_axes(rising({5}), {100}, {0}, {}, {-1}), {4}, {4, 3, 2, 1}));
  CHECK(is(slice_axes(rising({5}), {3}, {INT64_MIN}, {}, {-1}), {4}, {3, 2, 1, 0}));
  CHECK(is(slice_axes(rising({5}), {0}, {INT64_MAX}, {}, {INT64_MAX}), {1}, {0}));
  CHECK(slice_axes(rising({5}), {4}, {2}).shape() == Shape{0});
  CHECK(slice_axes(rising({0, 3}), {-1}, {5}, {}, {-1}).shape() == Shape{0, 3});
}

TEST_CASE("slice, expand, tile and pad match an element-by-element reference for any dtype") {
  Dice dice(3);
  for (const DType dtype : movable_dtypes())
    for (const Shape& shape : {Shape{3, 5}, Shape{41, 67}}) {
      const Dense x = any_bits(dice, dtype, shape);
      const Tensor t(x);
      const Index rows = shape[0], cols = shape[1];
      CHECK(same_bits(slice_axes(t, {-1, 1}, {INT64_MIN, cols}, {0, 1}, {-2, 3}).to_dense(),
                      moved(x, {ceil_div(rows, 2), ceil_div(cols - 1, 3)}, [&](const Shape& k) {
                        return Shape{rows - 1 - 2 * k[0], 1 + 3 * k[1]};
                      })));
      CHECK(
          same_bits(tile(t, {2, 3}).to_dense(), moved(x, {2 * rows, 3 * cols}, [&](const Shape& k) {
                      return Shape{k[0] % rows, k[1] % cols};
                    })));
      CHECK(same_bits(expand(reshape(t, {rows, 1, cols}), {2, 1, 4, 1}).to_dense(),
                      moved(x, {2, rows, 4, cols}, [](const Shape& k) {
                        return Shape{k[1], k[3]};
                      })));
      CHECK(same_bits(expand(reshape(t, {rows, cols, 1}), {rows, cols, 6}).to_dense(),
                      moved(x, {rows, cols, 6}, [](const Shape& k) {
                        return Shape{k[0], k[1]};
                      })));
      const auto reflect = [](Index i, Index n) { return i < 0 ? -i : i < n ? i : 2 * n - 2 - i; };
      CHECK(same_bits(pad(t, {2, 1, 1, 4}, "reflect").to_dense(),
                      moved(x, {rows + 3, cols + 5}, [&](const Shape& k) {
                        return Shape{reflect(k[0] - 2, rows), reflect(k[1] - 1, cols)};
                      })));
      CHECK(same_bits(
          pad(t, {0, 7, 3, 9}, "edge").to_dense(),
          moved(x, {rows + 3, cols + 16}, [&](const Shape& k) {
            return Shape{std::min(k[0], rows - 1), std::clamp<Index>(k[1] - 7, 0, cols - 1)};
          })));
      CHECK(same_bits(pad(t, {2, 0, 0, 0}, "wrap").to_dense(),
                      moved(x, {rows + 2, cols}, [&](const Shape& k) {
                        return Shape{(k[0] + rows - 2) % rows, k[1]};
                      })));
      CHECK(
          same_bits(slice_axes(pad(t, {1, 2, 3, 4}), {1, 2}, {1 + rows, 2 + cols}).to_dense(), x));
      CHECK(same_bits(pad(pad(t, {1, 2, 3, 4}), {-1, -2, -3, -4}).to_dense(), x));
    }
}

TEST_CASE("pad repeats reflections and takes its value as an attribute or an input") {
  CHECK(is(pad(rising({3}), {5, 0}, "reflect"), {8}, {1, 0, 1, 2, 1, 0, 1, 2}));
  CHECK(is(pad(rising({1}), {2, 1}, "reflect"), {4}, {0, 0, 0, 0}));
  CHECK(is(pad(rising({2}), {1, 1}, "constant", 7), {4}, {7, 0, 1, 7}));
  CHECK(is(apply("pad", {rising({2}), int64s({1, 0}), f32({}, {5})}), {3}, {5, 0, 1}));
  CHECK(is(apply("pad", {rising({1, 2}), int64s({1, 0}), f32({}, {5}), int64s({-1})}), {1, 3},
           {5, 0, 1}));
  CHECK(is(pad(int64s({3, 4}), {1, 1}), int64s({0, 3, 4, 0})));
  CHECK(is(pad(rising({}), {}), rising({})));
}

TEST_CASE("gather selects slices along an axis and accepts negative indices") {
  const Tensor x = rising({2, 3, 2});
  CHECK(is(gather(x, int64s({-1, 0}), 1), {2, 2, 2}, {4, 5, 0, 1, 10, 11, 6, 7}));
  CHECK(is(gather(x, int64s({2, 1}, {1, 0}), 2), {2, 3, 2, 1},
           {1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10}));
  CHECK(is(gather(x, int64s({}, {-2})), {3, 2}, {0, 1, 2, 3, 4, 5}));
  CHECK(is(gather(int64s({5, 6, 7}), int64s({2, 2})), int64s({7, 7})));
  CHECK(gather(x, int64s({0}, {}), 1).shape() == Shape{2, 0, 2});
  // The gathered elements, written as csr.
  const Tensor y = gather(x, int64s({2, 0}), 1, OutFormat::fused(KeepAll{}, Spec("csr")));
  CHECK(y.layout() == "csr");
  CHECK(is(y, gather(x, int64s({2, 0}), 1)));
}

TEST_CASE("gather-elements selects one element per index along an axis") {
  const Tensor x = f32({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(is(gather_elements(x, int64s({2, 3}, {1, 2, 0, 2, 0, 0})), {2, 3}, {4, 8, 3, 7, 2, 3}));
  CHECK(is(gather_elements(x, int64s({2, 2}, {-1, -2, 0, 0}), 1), {2, 2}, {3, 2, 4, 4}));
  CHECK(is(gather_elements(int64s({5, 6}), int64s({1, 1, 0})), int64s({6, 6, 5})));
}

TEST_CASE("trilu keeps the upper or lower triangle of each matrix") {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(is(trilu(x), {2, 3}, {1, 2, 3, 0, 5, 6}));
  CHECK(is(trilu(x, 1), {2, 3}, {0, 2, 3, 0, 0, 6}));
  CHECK(is(trilu(x, 0, false), {2, 3}, {1, 0, 0, 4, 5, 0}));
  CHECK(is(trilu(x, -1, false), {2, 3}, {0, 0, 0, 4, 0, 0}));
  CHECK(is(trilu(x, INT64_MIN), {2, 3}, {1, 2, 3, 4, 5, 6}));
  CHECK(is(trilu(x, INT64_MAX), {2, 3}, {0, 0, 0, 0, 0, 0}));
  CHECK(is(apply("trilu", {int64s({1, 2, 2}, {1, 2, 3, 4}), int64s({}, {1})}),
           int64s({1, 2, 2}, {0, 2, 0, 0})));
}

TEST_CASE("shape, size, constant-of-shape and range return the expected tensors") {
  const Tensor x = rising({2, 3, 4});
  CHECK(integers_of(apply("shape", {x})) == std::vector<std::int64_t>{2, 3, 4});
  CHECK(integers_of(apply("shape", {x}, Attributes().set("begin", -2).set("end", 9))) ==
        std::vector<std::int64_t>{3, 4});
  CHECK(integers_of(apply("size", {x})) == std::vector<std::int64_t>{24});
  CHECK(is(apply("constant-of-shape", {int64s({2, 2})}), {2, 2}, {0, 0, 0, 0}));
  CHECK(is(apply("constant-of-shape", {int64s({3}), int64s({7})}), int64s({7, 7, 7})));
  CHECK(apply("constant-of-shape", {int64s({})}).shape() == Shape{});
  const auto range = [](std::vector<float> v) {
    return apply("range", {f32({}, {v[0]}), f32({}, {v[1]}), f32({}, {v[2]})});
  };
  CHECK(is(range({1, 5, 2}), {2}, {1, 3}));
  CHECK(is(range({3, 0, -1.5}), {2}, {3, 1.5}));
  CHECK(range({3, 5, -1}).shape() == Shape{0});
  CHECK(is(apply("range", {int64s({}, {10}), int64s({}, {6}), int64s({}, {-3})}), int64s({10, 7})));
}

TEST_CASE("attribute lists can be given as inputs, and a computed shape passes no gradient") {
  const Tensor x = rising({2, 3});
  CHECK(apply("reshape", {x, int64s({3, -1})}).shape() == Shape{3, 2});
  CHECK(apply("unsqueeze", {x, int64s({0})}).shape() == Shape{1, 2, 3});
  CHECK(apply("expand", {x, int64s({2, 1, 1})}).shape() == Shape{2, 2, 3});
  CHECK(apply("tile", {x, int64s({1, 2})}).shape() == Shape{2, 6});
  CHECK(is(apply("slice", {x, int64s({2}), int64s({-9}), int64s({1}), int64s({-2})}), {2, 2},
           {2, 0, 5, 3}));
  CHECK(is(apply("sum", {x, int64s({1})}), {2}, {3, 12}));
  Tape tape;
  const Var p = tape.parameter(x), y = apply("reshape", {p, apply("shape", {p})});
  tape.backward(y, x);
  CHECK(is(*p.grad(), x));
  CHECK(error_of([&] {
          apply("tile", {x, int64s({1, 2})}, Attributes().set("repeats", List{1, 2}));
        }) == "tile: 'repeats' is given both as an attribute and as an input");
}

TEST_CASE("movement operators reject mismatched shapes, axes and indices") {
  const Tensor x = rising({2, 6});
  CHECK(error_of([&] { squeeze(x, {1}); }) == "squeeze: axis 1 of x [2, 6] must have extent 1");
  CHECK(error_of([&] { unsqueeze(x, {0, 0}); }) == "unsqueeze: axis 0 occurs twice in [0, 0]");
  CHECK(error_of([&] { flatten(x, 3); }) == "flatten: x [2, 6] has no axis 3");
  CHECK(error_of([&] {
          slice_axes(x, {0}, {1, 2});
        }) == "slice: begins [0], ends [1, 2], axes [0] and steps [1] differ in length");
  CHECK(error_of([&] { slice_axes(x, {0}, {1}, {1}, {0}); }) ==
        "slice: the step along axis 1 must not be 0");
  CHECK(error_of([&] {
          expand(x, {3, 6});
        }) == "expand: a is [2, 6] but b is [3, 6], which cannot be broadcast together");
  CHECK(error_of([&] { tile(x, {2}); }) == "tile: x is [2, 6] but the repeats are [2]");
  CHECK(error_of([&] {
          pad(x, {1, 1});
        }) == "pad: x is [2, 6]: the pads [1, 1] must have two values for each of the axes [0, 1]");
  CHECK(error_of([&] {
          pad(x, {-2, 0, -1, 0});
        }) == "pad: the pads -2 and -1 do not fit axis 0 of [2, 6]");
  CHECK(error_of([&] {
          pad(x, {0, 0, 0, 0}, "mirror");
        }) == "pad: unknown mode 'mirror' (expected constant, reflect, edge or wrap)");
  CHECK(error_of([&] {
          pad(rising({0}), {1, 0}, "edge");
        }) == "pad: axis 0 of x [0] is empty and cannot be repeated");
  CHECK(error_of([&] {
          gather(x, int64s({1, -7}), 1);
        }) == "gather: ids[1] is -7, but x is [2, 6]");
  CHECK(error_of([&] { gather_elements(x, int64s({3})); }) ==
        "gather-elements: x is [2, 6] but ids are [1]: extents other than axis 0 do not match");
  CHECK(error_of([&] {
          gather_elements(x, int64s({1, 1}, {2}));
        }) == "gather-elements: ids[0, 0] is 2, but x is [2, 6]");
  CHECK(error_of([&] { trilu(rising({3})); }) == "trilu: x must have 2 or more axes, got [3]");
}
