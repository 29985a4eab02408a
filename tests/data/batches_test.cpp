// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/batches.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "libsten/core/base/error.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Row r has the features 2r and 2r + 1, and the label r.
Examples rows(Index n, DType dtype = DType::F32) {
  Examples e{Dense::zeros(dtype, {n, 2}), Dense::zeros(DType::I64, {n})};
  for (Index i = 0; i < 2 * n; ++i) {
    if (dtype == DType::F32)
      e.features.values.mutate<float>()[i] = static_cast<float>(i);
    else
      e.features.values.mutate<std::uint8_t>()[i] = static_cast<std::uint8_t>(i);
  }
  for (Index i = 0; i < n; ++i) e.labels.values.mutate<std::int64_t>()[i] = i;
  return e;
}
std::vector<Index> labels(const Examples& e) {
  const auto y = e.labels.values.as<std::int64_t>();
  return {y.begin(), y.end()};
}
std::vector<Index> epoch_labels(Batches& batches, Index epoch) {
  std::vector<Index> all;
  for (Index i = 0; i < batches.per_epoch(); ++i)
    for (const Index y : labels(batches.at(epoch, i))) all.push_back(y);
  return all;
}

}  // namespace

TEST_CASE("an epoch contains every row once, with features matched to labels") {
  Batches batches(rows(10), {.size = 4});
  CHECK(batches.per_epoch() == 3);
  CHECK(batches.at(0, 2).count() == 2);
  std::vector<Index> all = epoch_labels(batches, 0);
  CHECK(all != epoch_labels(batches, 1));
  std::sort(all.begin(), all.end());
  for (Index i = 0; i < 10; ++i) CHECK(all[i] == i);
  const Examples batch = batches.at(7, 1);
  CHECK(batch.features.extents == Shape{4, 2});
  for (Index b = 0; b < 4; ++b) {
    const auto y = static_cast<float>(labels(batch)[b]);
    CHECK(floats(batch.features)[2 * b] == 2 * y);
    CHECK(floats(batch.features)[2 * b + 1] == 2 * y + 1);
  }
}

TEST_CASE("a batch depends on the seed and its index, not on earlier batches") {
  Batches one(rows(50), {.size = 8, .seed = 3}), other(rows(50), {.size = 8, .seed = 3});
  for (Index step = 0; step < 12; ++step) one.at(step);
  CHECK(labels(one.at(16)) == labels(other.at(16)));
  CHECK(labels(other.at(16)) == labels(other.at(2, 2)));
  Batches third(rows(50), {.size = 8, .seed = 4});
  CHECK(labels(third.at(16)) != labels(other.at(16)));
}

TEST_CASE("a batch of twice the size equals two consecutive batches") {
  Batches small(rows(40), {.size = 5}), large(rows(40), {.size = 10});
  std::vector<Index> two = labels(small.at(1, 2));
  for (const Index y : labels(small.at(1, 3))) two.push_back(y);
  CHECK(two == labels(large.at(1, 1)));
}

TEST_CASE("a subset of rows is batched in the given order, or shuffled") {
  Batches batches(rows(10), {7, 2, 9}, {.size = 2, .shuffle = false});
  for (const Index epoch : {0, 5})
    CHECK(epoch_labels(batches, epoch) == std::vector<Index>{7, 2, 9});
  Batches shuffled(rows(10), {7, 2, 9}, {.size = 2});
  std::vector<Index> all = epoch_labels(shuffled, 1);
  std::sort(all.begin(), all.end());
  CHECK(all == std::vector<Index>{2, 7, 9});
}

TEST_CASE("F32 and U8 features become float32, scaled and shifted") {
  for (const DType dtype : {DType::F32, DType::U8}) {
    Batches batches(rows(3, dtype), {.size = 3, .shuffle = false, .scale = 0.5f, .shift = -1});
    const Examples batch = batches.at(0);
    CHECK(batch.features.dtype() == DType::F32);
    CHECK(floats(batch.features) == std::vector<float>{-1, -0.5, 0, 0.5, 1, 1.5});
  }
}

TEST_CASE("empty batches, out-of-range rows and out-of-range batch indices are rejected") {
  const auto usage = [](auto f) { return fault_of(f) == Fault::usage ? error_of(f) : ""; };
  CHECK(usage([] { Batches(rows(3), {.size = 0}); }) == "batches: batch size must be >= 1, got 0");
  CHECK(usage([] { Batches(rows(3), std::vector<Index>{}, {}); }) == "batches: no rows given");
  CHECK(usage([] {
          Batches(rows(3), std::vector<Index>{0, 3}, {});
        }) == "batches: row 3 is out of range: the examples have 3 rows");
  Batches batches(rows(3), {.size = 2});
  CHECK(usage([&] { batches.at(0, 2); }) ==
        "batches: batch 2 of epoch 0 is out of range: an epoch has 2 batches");
  CHECK(usage([&] { batches.at(-1); }) ==
        "batches: batch -1 of epoch 0 is out of range: an epoch has 2 batches");
}
