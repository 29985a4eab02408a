// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/execution/sampling.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>

#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

const std::vector<float> logits{2.5f,  -1.25f, 0.75f, 3.0f, -0.5f, 1.5f,
                                -2.0f, 3.0f,   0.25f, 1.0f, -3.5f, 2.0f};
const std::vector<std::int64_t> earlier{3, 3, 1, 9, 8};

std::map<Index, double> probabilities(const SamplingOptions& o) {
  std::map<Index, double> all;
  for (const auto& [token, probability] : next_token_probabilities(logits, earlier, o))
    all.emplace(token, probability);
  return all;
}

}  // namespace

// The numbers are those of the logits processors of transformers 5.24, applied in the order of
// generate().
TEST_CASE("token probabilities match those of Hugging Face transformers") {
  const std::vector<std::pair<SamplingOptions, std::map<Index, double>>> cases{
      {{.temperature = 0.7},
       {{0, 0.164622},
        {1, 0.000776},
        {2, 0.013513},
        {3, 0.336278},
        {4, 0.002266},
        {5, 0.039452},
        {6, 0.000266},
        {7, 0.336278},
        {8, 0.006615},
        {9, 0.019313},
        {10, 0.000031},
        {11, 0.080589}}},
      {{.repetition_penalty = 1.3, .temperature = 1},
       {{0, 0.200878},
        {1, 0.003247},
        {2, 0.034907},
        {3, 0.165735},
        {4, 0.010001},
        {5, 0.073899},
        {6, 0.002232},
        {7, 0.331193},
        {8, 0.019986},
        {9, 0.035585},
        {10, 0.000498},
        {11, 0.121839}}},
      {{.temperature = 1, .top_k = 1}, {{3, 0.5}, {7, 0.5}}},
      {{.temperature = 1, .top_k = 3}, {{0, 0.232697}, {3, 0.383652}, {7, 0.383652}}},
      {{.temperature = 1, .top_p = 0.5}, {{3, 0.5}, {7, 0.5}}},
      {{.temperature = 1.5, .top_p = 0.9},
       {{0, 0.175425},
        {2, 0.054628},
        {3, 0.244825},
        {5, 0.090066},
        {7, 0.244825},
        {9, 0.064535},
        {11, 0.125697}}},
      {{.temperature = 1, .min_p = 0.2},
       {{0, 0.189687}, {3, 0.312740}, {5, 0.069782}, {7, 0.312740}, {11, 0.115051}}},
      {{.temperature = 2, .min_p = 0.5},
       {{0, 0.230052}, {3, 0.295392}, {7, 0.295392}, {11, 0.179164}}},
      {{.repetition_penalty = 1.2, .temperature = 0.8, .top_k = 8, .top_p = 0.85, .min_p = 0.1},
       {{0, 0.227092}, {3, 0.227092}, {7, 0.424263}, {11, 0.121553}}},
      {{.repetition_penalty = 0.8, .temperature = 1.2, .top_k = 10, .top_p = 0.95, .min_p = 0.05},
       {{0, 0.142244},
        {2, 0.033089},
        {3, 0.403111},
        {5, 0.061819},
        {7, 0.215770},
        {9, 0.050193},
        {11, 0.093773}}}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(i);
    const auto& [options, wanted] = cases[i];
    const std::map<Index, double> got = probabilities(options);
    REQUIRE(got.size() == wanted.size());
    for (const auto& candidate : wanted) {
      CAPTURE(candidate.first);
      REQUIRE(got.contains(candidate.first));
      CHECK(std::abs(got.at(candidate.first) - candidate.second) < 1e-6);
    }
  }
}

TEST_CASE("at a temperature near 0 the most likely tokens share the probability equally") {
  for (const double temperature : {1e-10, 1e-308, 5e-324}) {
    const std::map<Index, double> got = probabilities({.temperature = temperature});
    CHECK(got.at(3) == 0.5);
    CHECK(got.at(7) == 0.5);
    CHECK(got.at(0) == 0);
  }
}

TEST_CASE(
    "greedy sampling takes the first of the most likely tokens after the repetition penalty") {
  CHECK(probabilities({}) == std::map<Index, double>{{3, 1}});
  CHECK(probabilities({.repetition_penalty = 1.1}) == std::map<Index, double>{{7, 1}});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(error_of([&] {
          next_token_probabilities(std::vector{nan, nan}, {}, {});
        }) == "expected a finite logit of a token, got none");
}

TEST_CASE("tokens are sampled with their probabilities, and reproducibly for a seed") {
  const SamplingOptions options{.temperature = 1.5, .top_k = 5};
  const std::map<Index, double> wanted = probabilities({.temperature = 1.5, .top_k = 5});
  TokenSampler first(options, 1), again(options, 1), other(options, 2);
  std::map<Index, double> drawn;
  std::vector<Index> tokens, same, others;
  constexpr int count = 20'000;
  for (int i = 0; i < count; ++i) {
    // The penalty is off, so the earlier tokens do not count.
    tokens.push_back(first(logits, {}));
    same.push_back(again(logits, {}));
    others.push_back(other(logits, {}));
    drawn[tokens.back()] += 1.0 / count;
  }
  CHECK(tokens == same);
  CHECK(tokens != others);
  REQUIRE(drawn.size() == wanted.size());
  for (const auto& [token, share] : drawn) CHECK(std::abs(share - wanted.at(token)) < 0.015);
}

TEST_CASE("sampling parameters out of range are rejected with the name of their flag") {
  const auto refusal = [](const SamplingOptions& o) { return error_of([&] { o.check(); }); };
  CHECK(refusal({.temperature = 0}) == "--temperature must be > 0, got 0");
  CHECK(refusal({.repetition_penalty = -1}) == "--repetition-penalty must be > 0, got -1");
  CHECK(refusal({.temperature = 1, .top_k = 0}) == "--top-k must be >= 1, got 0");
  CHECK(refusal({.temperature = 1, .top_p = 0}) == "--top-p must be > 0 and <= 1, got 0");
  CHECK(refusal({.temperature = 1, .top_p = 1.5}) == "--top-p must be > 0 and <= 1, got 1.5");
  CHECK(refusal({.temperature = 1, .min_p = 2}) == "--min-p must be in [0, 1], got 2");
  CHECK(refusal({.top_p = 0.5}) == "--top-p needs --temperature");
  CHECK(refusal({.repetition_penalty = 1.2}) == "");
}
