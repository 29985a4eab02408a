// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/text_windows.h"

#include <doctest/doctest.h>

#include "libsten/core/base/error.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Token i has the id i.
Array<TokenId> counted(Index n) {
  Array<TokenId> ids = Array<TokenId>::uninitialized(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i) ids.mutate()[i] = static_cast<TokenId>(i);
  return ids;
}
std::vector<Index> integers_of(const Dense& x) {
  const auto v = x.values.as<std::int64_t>();
  return {v.begin(), v.end()};
}

}  // namespace

TEST_CASE("evaluation windows are consecutive, and the last token is only a target") {
  const TextWindows text(counted(20), 3, 20, {.window = 4, .batch = 3, .draw = false});
  CHECK(text.per_epoch() == 2);
  const TextBatch first = text.at(0), last = text.at(1);
  CHECK(first.ids.extents == Shape{3, 4});
  CHECK(integers_of(first.ids) == std::vector<Index>{3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
  CHECK(integers_of(first.next) == std::vector<Index>{4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  CHECK(integers_of(last.ids) == std::vector<Index>{15, 16, 17, 18});
  CHECK(integers_of(last.next) == std::vector<Index>{16, 17, 18, 19});
}

TEST_CASE("training windows are drawn from the whole range, independent of the batch size") {
  const TextWindows four(counted(40), 10, 40, {.window = 5, .batch = 4, .seed = 3}),
      two(counted(40), 10, 40, {.window = 5, .batch = 2, .seed = 3});
  CHECK(four.per_epoch() == 1);
  std::vector<bool> seen(40);
  for (Index i = 0; i < 60; ++i) {
    const TextBatch b = four.at(i);
    const std::vector<Index> ids = integers_of(b.ids), next = integers_of(b.next);
    for (std::size_t k = 0; k < ids.size(); ++k) {
      REQUIRE(next[k] == ids[k] + 1);
      REQUIRE(ids[k] >= 10);
      REQUIRE(next[k] < 40);
      seen[static_cast<std::size_t>(next[k])] = true;
    }
    std::vector<Index> halves = integers_of(two.at(2 * i).ids);
    for (const Index id : integers_of(two.at(2 * i + 1).ids)) halves.push_back(id);
    REQUIRE(ids == halves);
  }
  CHECK(std::count(seen.begin(), seen.end(), true) == 29);
}

TEST_CASE("ignored targets (-100) are passed on as labels and not counted") {
  const Array<TokenId> targets{0, 1, -100, -100, 4, 5, -100};
  const TextWindows text(counted(7), 0, 7, {.window = 3, .batch = 2, .draw = false}, targets);
  const TextBatch b = text.at(0);
  CHECK(integers_of(b.ids) == std::vector<Index>{0, 1, 2, 3, 4, 5});
  CHECK(integers_of(b.next) == std::vector<Index>{1, -100, -100, 4, 5, -100});
  CHECK(b.counted == 3);
  CHECK(error_of([&] { TextWindows(counted(9), 0, 9, {.window = 4}, targets); }) ==
        "text: expected 9 targets, got 7");
}

TEST_CASE("text ranges that are too short or out of range are rejected") {
  CHECK(error_of([] { TextWindows(counted(9), 0, 4, {.window = 4}); }) ==
        "text: 4 tokens are too few for a window of 4 and the next token");
  CHECK(error_of([] { TextWindows(counted(9), 0, 10, {.window = 4}); }) ==
        "text: the range [0, 10) is not within 9 tokens");
  CHECK(error_of([] { TextWindows(counted(9), 0, 9, {.window = 4, .draw = false}).at(1); }) ==
        "text: batch 1 is out of range: an epoch has 1 batches");
}
