// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/examples.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "libsten/core/base/error.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

template <class T>
Dense dense(DType dtype, Shape shape, const std::vector<T>& v) {
  Dense x = Dense::zeros(dtype, std::move(shape));
  std::copy(v.begin(), v.end(), x.values.mutate<T>().begin());
  return x;
}
std::string refusal(const Dense& features, const Dense& labels) {
  return error_of([&] { make_examples(features, labels, "x.npy", "y.npy"); });
}

}  // namespace

TEST_CASE("U8, I16 and U64 labels become I64 class indices") {
  const Dense x = f32({2, 1}, {1, 2});
  for (const Dense& y :
       {dense<std::uint8_t>(DType::U8, {2}, {3, 0}), dense<std::int16_t>(DType::I16, {2}, {3, 0}),
        dense<std::uint64_t>(DType::U64, {2}, {3, 0})}) {
    const Examples e = make_examples(x, y, "x", "y");
    CHECK(e.labels.dtype() == DType::I64);
    CHECK(e.labels.values.as<std::int64_t>()[0] == 3);
    CHECK(e.classes() == 4);
  }
}

TEST_CASE("invalid or inconsistent features and labels are rejected") {
  const Dense x = f32({2, 1}, {1, 2}), y = dense<std::int32_t>(DType::I32, {2}, {0, 1});
  CHECK(refusal(x, y) == "");
  CHECK(refusal(f32({2}, {1, 2}), y) == "x.npy: features must be [examples, ...], got [2]");
  CHECK(refusal(x, dense<std::int32_t>(DType::I32, {2, 1}, {0, 1})) ==
        "y.npy: labels must be [examples], got [2, 1]");
  CHECK(refusal(f32({3, 1}, {1, 2, 3}), y) == "x.npy: 3 rows, but y.npy has 2 labels");
  CHECK(refusal(f32({2, 0}, {}), y) == "x.npy: shape [2, 0] has no elements");
  CHECK(refusal(x, f32({2}, {0, 1})) == "y.npy: labels must be integers, got F32");
  CHECK(refusal(x, dense<std::int32_t>(DType::I32, {2}, {0, -1})) ==
        "y.npy: label 1 is -1, not a class index (expected an integer >= 0)");
  CHECK(refusal(x, dense<std::uint64_t>(DType::U64, {2}, {0, 1ull << 63})) ==
        "y.npy: label 1 is 9223372036854775808, not a class index (expected an integer >= 0)");
  CHECK(refusal(Dense::zeros(DType::C64, {2, 1}), y) == "x.npy: unsupported dtype C64 of features");
}

TEST_CASE("features that are not finite in float32 are rejected with their position") {
  const Dense y = dense<std::int32_t>(DType::I32, {2}, {0, 1});
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(refusal(f32({2, 2}, {1, 2, 3, nan}), y) ==
        "x.npy: element [1, 1] must be a finite float32 value, got nan");
  CHECK(refusal(dense<double>(DType::F64, {2, 1}, {1e300, 0}), y) ==
        "x.npy: element [0, 0] must be a finite float32 value, got 1e+300");
  CHECK(refusal(dense<std::uint16_t>(DType::F16, {2, 1}, {0x3c00, 0x7c00}), y) ==
        "x.npy: element [1, 0] must be a finite float32 value, got inf");
}

TEST_CASE("shuffled() is a permutation of all rows that is deterministic by seed") {
  std::vector<Index> rows = shuffled(1000, 5);
  CHECK(rows == shuffled(1000, 5));
  CHECK(rows != shuffled(1000, 6));
  CHECK(!std::is_sorted(rows.begin(), rows.end()));
  std::sort(rows.begin(), rows.end());
  for (Index i = 0; i < 1000; ++i) CHECK(rows[i] == i);
  // Sorted by the hash of the index; computed independently.
  CHECK(shuffled(8, 0) == std::vector<Index>{7, 0, 5, 3, 6, 4, 1, 2});
}

TEST_CASE("a split partitions the rows by the requested shares") {
  const Split split = split_rows(1797, 0.6, 0.2, 0);
  CHECK(split.train.size() == 1078);
  CHECK(split.validation.size() == 359);
  CHECK(split.test.size() == 360);
  std::vector<Index> all = split.train;
  all.insert(all.end(), split.validation.begin(), split.validation.end());
  all.insert(all.end(), split.test.begin(), split.test.end());
  CHECK(all == shuffled(1797, 0));
}

TEST_CASE("shares of whole rows are exact despite rounding, and invalid shares are rejected") {
  CHECK(shares_of(10, 0.7, 0.1).validation == 1);
  CHECK(shares_of(10, 0.7, 0.1).test == 2);
  CHECK(shares_of(10, 0.7, 0.3).test == 0);
  CHECK(shares_of(3, 1, 0).train == 3);
  const std::vector<std::pair<double, double>> senseless{
      {-0.1, 0.5}, {0.5, -0.1}, {0.6, 0.5}, {NAN, 0.5}};
  for (const auto& shares : senseless)
    CHECK(fault_of([&] { shares_of(10, shares.first, shares.second); }) == Fault::usage);
}
