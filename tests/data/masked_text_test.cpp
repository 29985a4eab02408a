// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/masked_text.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "libsten/core/base/error.h"
#include "libsten/data/tokenizer/vocabulary.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Characters have the ids 2 to 11, [MASK] has 1 and [PAD] 0.
Vocabulary vocabulary() {
  std::string json = R"({"[PAD]": 0, "[MASK]": 1)";
  for (char c = 'a'; c < 'k'; ++c) json += fmt::format(", \"{}\": {}", c, c - 'a' + 2);
  return Vocabulary::parse(as_bytes(json + "}"), "vocab.json");
}
constexpr Index characters = 10;

// Random characters, so that a window is found at one place only.
Array<TokenId> text(Index n) {
  Array<TokenId> ids = Array<TokenId>::uninitialized(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i)
    ids.mutate()[i] = static_cast<TokenId>(2 + random_bits(0, static_cast<std::uint64_t>(i)) % 10);
  return ids;
}
MaskedText masked(Index n, const MaskedTextOptions& options) {
  return {text(n), 0, n, vocabulary(), options};
}

std::vector<Index> numbers(const Dense& x) {
  const auto v = x.values.as<std::int64_t>();
  return {v.begin(), v.end()};
}
// The tokens before masking.
std::vector<Index> original(const MaskedBatch& b) {
  std::vector<Index> ids = numbers(b.ids);
  const auto targets = numbers(b.targets);
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (targets[i] != -100) ids[i] = targets[i];
  return ids;
}
bool same(const MaskedBatch& a, const MaskedBatch& b) {
  return same_bits(a.ids, b.ids) && same_bits(a.targets, b.targets) &&
         same_bits(a.masked_positions, b.masked_positions) && same_bits(a.wanted, b.wanted);
}

}  // namespace

TEST_CASE("a batch has windows of the text and the masked positions to predict") {
  const Array<TokenId> ids = text(500);
  const MaskedBatch b = masked(500, {.window = 20, .batch = 8}).at(3);
  CHECK(b.ids.extents == Shape{8, 20});
  CHECK(b.targets.extents == Shape{160});
  const auto all = original(b), targets = numbers(b.targets),
             masked_positions = numbers(b.masked_positions);
  for (Index r = 0; r < 8; ++r)
    CHECK(std::search(ids.begin(), ids.end(), all.begin() + r * 20, all.begin() + (r + 1) * 20) !=
          ids.end());
  std::vector<Index> found, wanted;
  for (Index i = 0; i < 160; ++i) {
    if (targets[i] == -100) continue;
    found.push_back(i);
    wanted.push_back(targets[i]);
  }
  CHECK(masked_positions == found);
  CHECK(numbers(b.wanted) == wanted);
  CHECK(!masked_positions.empty());
}

TEST_CASE("15 % of the characters are predicted: 80 % masked, 10 % random, 10 % unchanged") {
  const MaskedBatch b = masked(100'000, {.window = 500, .batch = 200, .draw = false}).at(0);
  const auto ids = numbers(b.ids), masked_positions = numbers(b.masked_positions),
             wanted = numbers(b.wanted);
  const double n = 100'000, p = static_cast<double>(masked_positions.size());
  Index masks = 0, others = 0, kept = 0;
  std::vector<Index> seen(12);
  for (std::size_t i = 0; i < masked_positions.size(); ++i) {
    const Index id = ids[masked_positions[i]];
    ++seen[id];
    id == 1 ? ++masks : id == wanted[i] ? ++kept : ++others;
  }
  // Within 4 standard deviations.
  const auto near = [](double got, double count, double share) {
    return std::abs(got - count * share) < 4 * std::sqrt(count * share * (1 - share));
  };
  CHECK(near(p, n, 0.15));
  CHECK(near(static_cast<double>(masks), p, 0.8));
  // A random character is the right one once in ten.
  CHECK(near(static_cast<double>(others), p, 0.09));
  CHECK(near(static_cast<double>(kept), p, 0.11));
  CHECK(seen[0] == 0);
  for (Index c = 2; c < 2 + characters; ++c) CHECK(seen[c] > 0);
}

TEST_CASE("a masked batch is deterministic by seed and index") {
  const MaskedText one = masked(1000, {.window = 16, .batch = 4, .seed = 7});
  const MaskedText again = masked(1000, {.window = 16, .batch = 4, .seed = 7});
  const MaskedText other = masked(1000, {.window = 16, .batch = 4, .seed = 8});
  for (const Index i : {0, 1, 500, 3}) {
    CHECK(same(one.at(i), again.at(i)));
    CHECK(!same(one.at(i), other.at(i)));
    CHECK(!same(one.at(i), one.at(i + 1)));
  }
}

TEST_CASE("four small batches equal one batch of four times the size") {
  for (const bool draw : {true, false}) {
    const MaskedText small = masked(1000, {.window = 16, .batch = 2, .draw = draw});
    const MaskedText large = masked(1000, {.window = 16, .batch = 8, .draw = draw});
    std::vector<Index> ids, targets;
    for (Index i = 8; i < 12; ++i) {
      for (const Index id : numbers(small.at(i).ids)) ids.push_back(id);
      for (const Index id : numbers(small.at(i).targets)) targets.push_back(id);
    }
    CHECK(ids == numbers(large.at(2).ids));
    CHECK(targets == numbers(large.at(2).targets));
  }
}

TEST_CASE("sequential windows cover their text range once, with a smaller last batch") {
  const Array<TokenId> ids = text(100);
  const MaskedText part(ids, 10, 95, vocabulary(), {.window = 20, .batch = 3, .draw = false});
  CHECK(part.per_epoch() == 2);
  std::vector<Index> all = original(part.at(0));
  for (const Index id : original(part.at(1))) all.push_back(id);
  CHECK(all == std::vector<Index>(ids.begin() + 10, ids.begin() + 90));
  CHECK(error_of([&] { part.at(2); }) ==
        "masked text: batch 2 is out of range: an epoch has 2 batches");
}

TEST_CASE("random windows cover their text range and stay within it") {
  // A range of one window plus two tokens has three windows.
  const Array<TokenId> ids = text(100);
  const MaskedText part(ids, 40, 62, vocabulary(), {.window = 20, .batch = 64, .predicted = 0});
  const auto shown = numbers(part.at(0).ids);
  std::vector<int> seen(3);
  for (auto row = shown.begin(); row != shown.end(); row += 20)
    for (Index start = 0; start < 3; ++start)
      seen[start] += std::equal(row, row + 20, ids.begin() + 40 + start);
  CHECK(seen[0] + seen[1] + seen[2] == 64);
  for (const int n : seen) CHECK(n > 0);
  CHECK(part.at(0).masked_positions.extents == Shape{0});
}

TEST_CASE("invalid masking options and texts shorter than a window are rejected") {
  const auto refused = [](Index n, const MaskedTextOptions& options) {
    CHECK(fault_of([&] { masked(n, options); }) == Fault::usage);
    return error_of([&] { masked(n, options); });
  };
  CHECK(refused(10, {.window = 11}) == "masked text: 10 tokens are too few for a window of 11");
  CHECK(refused(10, {.window = 0}) ==
        "masked text: expected batch >= 1 and window >= 1, got 32 and 0");
  CHECK(refused(10, {.window = 5, .batch = 0}) ==
        "masked text: expected batch >= 1 and window >= 1, got 0 and 5");
  CHECK(refused(10, {.window = 5, .predicted = 1.5}) ==
        "masked text: predicted must be in [0, 1], got 1.5");
  CHECK(refused(10, {.window = 5, .masked = NAN}) ==
        "masked text: masked must be in [0, 1], got nan");
  CHECK(refused(10, {.window = 5, .masked = 0.9, .random = 0.2}) ==
        "masked text: masked 0.9 and random 0.2 must have a sum <= 1");
  CHECK(fault_of([] { MaskedText(text(10), 5, 11, vocabulary(), {.window = 2}); }) == Fault::usage);
  const Vocabulary plain = Vocabulary::parse(as_bytes(R"({"a": 0})"), "vocab.json");
  CHECK(error_of([&] { MaskedText(text(10), 0, 10, plain, {.window = 2}); }) ==
        "vocab.json: missing [MASK]");
}
