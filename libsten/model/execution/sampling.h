// SPDX-License-Identifier: Apache-2.0
// Sampling: the choice of the next token from logits, by the steps of Hugging Face's generate() in
// its order.
//
//   TokenSampler sample({.temperature = 0.8, .top_p = 0.9}, seed);
//   const Index next = sample(logits, earlier);
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "libsten/core/base/shape.h"

namespace sten {

// The steps, in this order; see check().
struct SamplingOptions {
  // Divides the positive logits of earlier tokens, and multiplies the negative ones. 1: none.
  // Source: Keskar et al. 2019.
  std::optional<double> repetition_penalty{};
  // Samples by softmax(logits / temperature). None: takes the most likely token.
  std::optional<double> temperature{};
  // Removes tokens with a smaller logit than the top_k-th.
  std::optional<Index> top_k{};
  // Keeps the most likely tokens whose probabilities sum up to top_p. Source: Holtzman et al. 2020.
  std::optional<double> top_p{};
  // Removes tokens whose probability is below min_p times the largest one. Source: Nguyen et al.
  // 2024.
  std::optional<double> min_p{};

  // Error (usage) with the flag of sten-run for values out of range, and for top_k, top_p and min_p
  // without a temperature.
  void check() const;
  friend bool operator==(const SamplingOptions&, const SamplingOptions&) = default;
};

struct TokenProbability {
  Index token;
  double probability;
};

// The candidates for the next token and their probabilities, in no particular order; without a
// temperature, only the most likely token, the first one of equals. `logits`: one per token; those
// that are not finite are no candidates. `earlier`: tokens of the prompt and of the text so far.
// Error if no logit is finite.
std::vector<TokenProbability> next_token_probabilities(std::span<const float> logits,
                                                       std::span<const std::int64_t> earlier,
                                                       const SamplingOptions& options);

// Draws tokens; the same for the same seed and logits.
class TokenSampler {
 public:
  TokenSampler(const SamplingOptions& options, std::uint64_t seed)
      : options_(options), seed_(seed) {}

  Index operator()(std::span<const float> logits, std::span<const std::int64_t> earlier);

 private:
  SamplingOptions options_;
  std::uint64_t seed_, drawn_ = 0;
};

}  // namespace sten
