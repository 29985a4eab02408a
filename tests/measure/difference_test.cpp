// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/measure/difference.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "libsten/core/base/parallel.h"
#include "libsten/core/registry/registry.h"
#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

template <class T>
Dense line_of(DType dtype, std::initializer_list<T> elements) {
  Dense x = Dense::zeros(dtype, {static_cast<Index>(elements.size())});
  std::ranges::copy(elements, x.values.mutate<T>().begin());
  return x;
}

}  // namespace

TEST_CASE("difference reports changed elements, new and lost zeros, largest change and norm") {
  const Difference d =
      difference(Dense::of({2, 3}, {3, 0, -4, 1, 2, 0}), Dense::of({2, 3}, {3, 2, -1, 0, 2, 0}));
  CHECK(d.changed == 3);
  CHECK(d.to_zero == 1);
  CHECK(d.from_zero == 1);
  CHECK(d.largest == 3);
  CHECK(static_cast<double>(d.squares) == 14);
  CHECK(static_cast<double>(d.original) == 30);
  CHECK(*d.relative_norm() == doctest::Approx(std::sqrt(14.0 / 30)));
  // Two zero tensors differ by 0; a change of a zero tensor has no relative norm.
  CHECK(*difference(Dense::of({2}, {0, 0}), Dense::of({2}, {0, -0.0f})).relative_norm() == 0);
  CHECK(!difference(Dense::of({1}, {0}), Dense::of({1}, {1})).relative_norm());
}

TEST_CASE("difference: -0.0 equals 0, NaN equals NaN, and non-finite values are left out of sums") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = HUGE_VALF;
  Difference d =
      difference(Dense::of({4}, {0, nan, inf, 1}), Dense::of({4}, {-0.0f, -nan, inf, 1}));
  CHECK(d.changed == 0);
  CHECK(static_cast<double>(d.original) == 1);
  d = difference(Dense::of({4}, {nan, 1, inf, 2}), Dense::of({4}, {1, inf, -inf, 4}));
  CHECK(d.changed == 4);
  CHECK(d.not_finite == 3);
  CHECK(d.largest == 2);
  CHECK(static_cast<double>(d.squares) == 4);
}

TEST_CASE(
    "difference compares integers and mixed float dtypes by value, and other dtypes by bits") {
  Difference d = difference(line_of<std::int8_t>(DType::I8, {-3, 0, 5}),
                            line_of<std::int8_t>(DType::I8, {-4, 1, 5}));
  CHECK(d.changed == 2);
  CHECK(d.largest == 1);
  CHECK(d.from_zero == 1);
  // Beyond the integers of doubles.
  const std::int64_t large = std::int64_t{1} << 60;
  CHECK(difference(line_of(DType::I64, {large}), line_of(DType::I64, {large + 1})).changed == 1);
  CHECK(difference(Dense::of({2}, {1, 2}), line_of<std::uint16_t>(DType::BF16, {0x3f80, 0x4000}))
            .changed == 0);
  d = difference(Dense::of({2}, {1, 2}), line_of(DType::F64, {1.0, 2.5}));
  CHECK(d.changed == 1);
  CHECK(d.largest == 0.5);
  CHECK(!has_numbers(DType::C64));
  d = difference(line_of<std::uint64_t>(DType::C64, {0, 1, 2}),
                 line_of<std::uint64_t>(DType::C64, {1, 0, 2}));
  CHECK(d.changed == 2);
  CHECK(d.to_zero == 1);
  CHECK(d.largest == 0);
  // Squares of F64 may be beyond double.
  d = difference(line_of(DType::F64, {1e300, 1.0}), line_of(DType::F64, {-1e300, 1.0}));
  CHECK(d.largest == 2e300);
  CHECK(*d.relative_norm() == doctest::Approx(2));
}

TEST_CASE("difference sums are the same at any thread count, and for coo and dense tensors") {
  Dice dice(1);
  const Dense a = normals(dice, {300, 1000}), b = normals(dice, {300, 1000});
  const int threads_before = threads();
  set_threads(1);
  const Difference one = difference(a, b);
  set_threads(threads_before);
  const Difference all = difference(a, b);
  CHECK(one.changed == a.size());
  CHECK(static_cast<double>(one.squares) == static_cast<double>(all.squares));
  CHECK(static_cast<double>(one.original) == static_cast<double>(all.original));

  // Far larger dense: 3 of 25 million elements.
  const auto coo = [&](float second) {
    Dense x = Dense::zeros(DType::F32, {5000, 5000});
    const auto v = x.values.mutate<float>();
    v[7] = 2;
    v[12'345'678] = second;
    if (second > 3) v[24'999'999] = 1;
    return registry().pack(x, nonzero_mask(x), Spec("coo"));
  };
  const Tensor x = coo(3), y = coo(4);
  const Difference listed = difference(x, y), dense = difference(x.to_dense(), y.to_dense());
  CHECK(listed.changed == 2);
  CHECK(listed.from_zero == 1);
  CHECK(listed.largest == dense.largest);
  CHECK(static_cast<double>(listed.squares) == static_cast<double>(dense.squares));
  CHECK(static_cast<double>(listed.original) == static_cast<double>(dense.original));
}
