// SPDX-License-Identifier: Apache-2.0
// Reductions other than sum and mean, and sorting.
#include <doctest/doctest.h>

#include <limits>

#include "libsten/compute/ops/common/operators.h"
#include "tests/ops/operands.h"

using namespace sten;
using namespace sten::testing;

namespace {

template <class T>
Tensor made(DType dtype, Shape extents, const std::vector<T>& v) {
  Dense x = Dense::zeros(dtype, std::move(extents));
  std::ranges::copy(v, x.values.template mutate<T>().begin());
  return x;
}

constexpr float inf = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("reductions reduce the given axes, all axes by default, or none with noop") {
  const Tensor x = tensor({2, 3}, {1, -2, 3, 4, 5, -6});
  CHECK(is(reduce("reduce-max", x), tensor({}, {5})));
  CHECK(is(reduce("reduce-min", x, {0}), tensor({3}, {1, -2, -6})));
  CHECK(is(reduce("reduce-prod", x, {1}, true), tensor({2, 1}, {-6, -120})));
  CHECK(is(reduce("reduce-l1", x, {-1}), tensor({2}, {6, 15})));
  CHECK(is(reduce("reduce-l2", tensor({2, 2}, {3, 4, 5, 12}), {1}), tensor({2}, {5, 13})));
  CHECK(is(reduce("reduce-sum-square", x, {0}), tensor({3}, {17, 29, 45})));
  CHECK(is(apply("reduce-max", {x}, Attributes().set("noop", 1)), x));
  CHECK(is(apply("sum", {x}, Attributes().set("noop", 1)), x));
  CHECK(is(apply("reduce-max", {x, int64s({1}, {1})}), tensor({2}, {3, 5})));
}

TEST_CASE("reductions over an empty axis return their identity element") {
  const Tensor none = tensor({2, 0}, {});
  CHECK(is(reduce("reduce-max", none, {1}), tensor({2}, {-inf, -inf})));
  CHECK(is(reduce("reduce-min", none, {1}), tensor({2}, {inf, inf})));
  CHECK(is(reduce("reduce-prod", none, {1}), tensor({2}, {1, 1})));
  CHECK(is(reduce("reduce-l2", none, {1}), tensor({2}, {0, 0})));
  CHECK(is(reduce("reduce-log-sum", none, {1}), tensor({2}, {-inf, -inf})));
  CHECK(is(reduce("reduce-log-sum-exp", none, {1}), tensor({2}, {-inf, -inf})));
}

TEST_CASE("max, min and log-sum-exp reductions propagate NaN and handle infinities") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = tensor({2, 2}, {1, nan, -inf, 2});
  for (const char* op : {"reduce-max", "reduce-min", "reduce-log-sum-exp"}) {
    CHECK(std::isnan(floats(reduce(op, x, {1}).to_dense())[0]));
    CHECK_FALSE(std::isnan(floats(reduce(op, x, {1}).to_dense())[1]));
  }
  CHECK(is(reduce("reduce-log-sum-exp", tensor({2}, {inf, 1})), tensor({}, {inf})));
}

TEST_CASE("reductions accept integers and reject unsupported dtypes") {
  const Tensor x = int64s({2, 2}, {1, -7, 3, std::int64_t{1} << 60});
  CHECK(is(reduce("reduce-max", x, {0}), int64s({2}, {3, std::int64_t{1} << 60})));
  CHECK(is(reduce("reduce-prod", int64s({3}, {2, -3, 4})), int64s({}, {-24})));
  CHECK(is(reduce("reduce-l1", int64s({3}, {2, -3, 4})), int64s({}, {9})));
  CHECK(is(reduce("reduce-l2", int64s({2}, {3, -4})), int64s({}, {5})));
  CHECK(is(reduce("reduce-sum-square", int64s({2}, {3, -4})), int64s({}, {25})));
  CHECK(is(sum(x, {1}), int64s({2}, {-6, (std::int64_t{1} << 60) + 3})));
  CHECK(is(mean(int64s({2}, {-4, -3})), int64s({}, {-3})));
  const Tensor narrow = made<std::int32_t>(DType::I32, {3}, {5, -6, 2});
  CHECK(is(sum(narrow), made<std::int32_t>(DType::I32, {}, {1})));
  CHECK(is(reduce("reduce-min", narrow), made<std::int32_t>(DType::I32, {}, {-6})));
  const Tensor bools = made<std::uint8_t>(DType::BOOL, {2, 2}, {1, 0, 0, 0});
  CHECK(is(reduce("reduce-max", bools, {1}), made<std::uint8_t>(DType::BOOL, {2}, {1, 0})));
  CHECK(error_of([&] { reduce("reduce-l1", bools); }) ==
        "reduce-l1: elements must be F32 or F64, got BOOL");
  CHECK(error_of([&] { reduce("reduce-log-sum", x); }) ==
        "reduce-log-sum: elements must be F32 or F64, got I64");
}

TEST_CASE("arg-max and arg-min return the first of equal elements, or the last on request") {
  const Tensor x = tensor({2, 3}, {2, 5, 5, 1, 1, 0});
  CHECK(is(arg_max(x), int64s({3}, {0, 0, 0})));
  CHECK(is(arg_max(x, -1, true), int64s({2, 1}, {1, 0})));
  const auto last = Attributes().set("axis", 1).set("last", 1);
  CHECK(is(apply("arg-max", {x}, last), int64s({2}, {2, 1})));
  CHECK(is(apply("arg-min", {x}, Attributes().set("axis", 1)), int64s({2}, {0, 2})));
  CHECK(is(arg_max(int64s({3}, {4, 9, 9})), int64s({}, {1})));
  CHECK(error_of([&] {
          arg_max(tensor({2, 0}, {}), 1);
        }) == "arg-max: axis 1 of x [2, 0] is empty");
}

TEST_CASE("top-k returns the largest elements in order and breaks ties by position") {
  const Tensor x = tensor({2, 4}, {1, 3, 2, 3, 7, 8, 9, 6});
  CHECK(is(top_k(x, 3), tensor({2, 3}, {3, 3, 2, 9, 8, 7})));
  CHECK(is(top_k_indices(x, 3), int64s({2, 3}, {1, 3, 2, 2, 1, 0})));
  CHECK(is(top_k(x, 1, 0), tensor({1, 4}, {7, 8, 9, 6})));
  CHECK(is(apply("top-k-indices", {x, int64s({1}, {2})}, Attributes().set("largest", 0)),
           int64s({2, 2}, {0, 2, 3, 0})));
  CHECK(is(top_k(int64s({3}, {4, 9, 5}), 2), int64s({2}, {9, 5})));
  CHECK(top_k(x, 0).shape() == Shape{2, 0});
  CHECK(error_of([&] { top_k(x, 5); }) == "top-k: axis 1 of x [2, 4] does not have k=5 elements");
}

TEST_CASE("cum-sum supports inclusive and exclusive sums in either direction") {
  const Tensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(is(cum_sum(x, 0), tensor({2, 3}, {1, 2, 3, 5, 7, 9})));
  CHECK(is(cum_sum(x, 1), tensor({2, 3}, {1, 3, 6, 4, 9, 15})));
  const auto other = Attributes().set("exclusive", 1).set("reverse", 1);
  CHECK(is(apply("cum-sum", {x, int64s({}, {-1})}, other), tensor({2, 3}, {5, 3, 0, 11, 6, 0})));
  CHECK(is(cum_sum(int64s({3}, {1, 2, 3}), 0), int64s({3}, {1, 3, 6})));
}

TEST_CASE("arg-max has no gradient, but gathering at its indices has one") {
  Tape tape;
  const Var x = tape.parameter(tensor({2, 3}, {1, 5, 2, 6, 4, 3}));
  const Var at = arg_max(x, 1, true);
  CHECK_FALSE(at.wants_grad());
  tape.backward(gather_elements(x, at, 1), tensor({2, 1}, {10, 20}));
  CHECK(is(*x.grad(), tensor({2, 3}, {0, 10, 0, 20, 0, 0})));
}
