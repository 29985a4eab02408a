// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/shape.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("the size of a shape is the product of its extents") {
  CHECK(size_of({}) == 1);
  CHECK(size_of({3, 4}) == 12);
  CHECK(checked_size({}) == 1);
  CHECK(checked_size({3, 4, 5}) == 60);
  CHECK(checked_size({3, 0, 5}) == 0);
  CHECK(to_string(Shape{768, 3072}) == "[768, 3072]");
  CHECK(to_string(Shape{}) == "[]");
  CHECK(to_string(Shape(20'000, 0)) == "[0, 0, 0, 0, 0, 0, 0, 0, ... 20000 in all]");
}

TEST_CASE("a shape with a negative extent or more than 2^62 elements is rejected") {
  const Index big = Index{1} << 31;
  CHECK(checked_size({big, big}) == Index{1} << 62);
  CHECK(has(error_of([&] { checked_size({big, big, 2}); }), "expected at most 2^62 elements"));
  CHECK(has(error_of([&] { checked_size({INT64_MAX, 2}); }), "9223372036854775807"));
  CHECK(has(error_of([&] { checked_size({2, -1}); }), "expected extents >= 0"));
  CHECK(has(error_of([&] { checked_size({0, -1}); }), "expected extents >= 0"));
  CHECK(fault_of([&] { checked_size({-1}); }) == Fault::input);
}

TEST_CASE("extents whose product overflows are rejected even beside a 0, in any order") {
  Shape shape{0, Index{1} << 32, Index{1} << 32, 3};
  std::sort(shape.begin(), shape.end());
  do {
    CAPTURE(to_string(shape));
    CHECK(error_of([&] { checked_size(shape); }) != "");
  } while (std::next_permutation(shape.begin(), shape.end()));
}

TEST_CASE("ceil_div rounds the quotient up") {
  CHECK(ceil_div(0, 4) == 0);
  CHECK(ceil_div(1, 4) == 1);
  CHECK(ceil_div(8, 4) == 2);
  CHECK(ceil_div(9, 4) == 3);
  CHECK(ceil_div(INT64_MAX, 2) == Index{1} << 62);
}
