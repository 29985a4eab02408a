// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/execution/sampling.h"

#include <algorithm>
#include <cmath>

#include "libsten/core/base/error.h"
#include "libsten/core/base/random.h"

namespace sten {
namespace {

using Candidates = std::vector<TokenProbability>;  // with logits until to_probabilities()

bool is_likelier(const TokenProbability& a, const TokenProbability& b) {
  return a.probability != b.probability ? a.probability > b.probability : a.token < b.token;
}

void penalize(Candidates& all, std::span<const std::int64_t> earlier, double penalty) {
  std::vector<std::int64_t> tokens(earlier.begin(), earlier.end());
  std::ranges::sort(tokens);
  for (TokenProbability& c : all)
    if (std::ranges::binary_search(tokens, c.token))
      c.probability = c.probability < 0 ? c.probability * penalty : c.probability / penalty;
}

// Ties with the k-th logit stay.
void keep_top_k(Candidates& all, Index k) {
  if (k >= std::ssize(all)) return;
  std::ranges::nth_element(all, all.begin() + (k - 1), is_likelier);
  const double least = all[k - 1].probability;
  std::erase_if(all, [&](const TokenProbability& c) { return c.probability < least; });
}

void to_probabilities(Candidates& all) {
  const double most = std::ranges::max(all, {}, &TokenProbability::probability).probability;
  double sum = 0;
  for (TokenProbability& c : all) sum += c.probability = std::exp(c.probability - most);
  for (TokenProbability& c : all) c.probability /= sum;
}

void normalize(Candidates& all) {
  double sum = 0;
  for (const TokenProbability& c : all) sum += c.probability;
  for (TokenProbability& c : all) c.probability /= sum;
}

// Removes the least likely tokens while their probabilities sum up to at most 1 - p.
void keep_top_p(Candidates& all, double p) {
  if (p >= 1) return;
  std::ranges::sort(all, is_likelier);
  double removed = 0;
  while (all.size() > 1 && (removed += all.back().probability) <= 1 - p) all.pop_back();
  normalize(all);
}

void keep_min_p(Candidates& all, double p) {
  const double least = p * std::ranges::max(all, {}, &TokenProbability::probability).probability;
  std::erase_if(all, [&](const TokenProbability& c) { return c.probability < least; });
  normalize(all);
}

}  // namespace

void SamplingOptions::check() const {
  const auto is_positive = [](double x) { return x > 0 && std::isfinite(x); };
  if (repetition_penalty && !is_positive(*repetition_penalty))
    fail_usage("--repetition-penalty must be > 0, got {}", *repetition_penalty);
  if (temperature && !is_positive(*temperature))
    fail_usage("--temperature must be > 0, got {}", *temperature);
  if (top_k && *top_k < 1) fail_usage("--top-k must be >= 1, got {}", *top_k);
  if (top_p && !(*top_p > 0 && *top_p <= 1))
    fail_usage("--top-p must be > 0 and <= 1, got {}", *top_p);
  if (min_p && !(*min_p >= 0 && *min_p <= 1))
    fail_usage("--min-p must be in [0, 1], got {}", *min_p);
  if (!temperature && (top_k || top_p || min_p))
    fail_usage("{} needs --temperature", top_k ? "--top-k" : top_p ? "--top-p" : "--min-p");
}

std::vector<TokenProbability> next_token_probabilities(std::span<const float> logits,
                                                       std::span<const std::int64_t> earlier,
                                                       const SamplingOptions& o) {
  Candidates all;
  for (Index token = 0; token < std::ssize(logits); ++token)
    if (std::isfinite(logits[token])) all.push_back({token, logits[token]});
  if (all.empty()) fail("expected a finite logit of a token, got none");
  if (o.repetition_penalty) penalize(all, earlier, *o.repetition_penalty);
  if (!o.temperature) return {{std::ranges::min_element(all, is_likelier)->token, 1}};
  // Differences to the largest logit do not overflow to infinity - infinity.
  const double most = std::ranges::max(all, {}, &TokenProbability::probability).probability;
  for (TokenProbability& c : all) c.probability = (c.probability - most) / *o.temperature;
  if (o.top_k) keep_top_k(all, *o.top_k);
  to_probabilities(all);
  if (o.top_p) keep_top_p(all, *o.top_p);
  if (o.min_p) keep_min_p(all, *o.min_p);
  return all;
}

Index TokenSampler::operator()(std::span<const float> logits,
                               std::span<const std::int64_t> earlier) {
  const Candidates all = next_token_probabilities(logits, earlier, options_);
  if (all.size() == 1) return all.front().token;
  double left = random_uniform(seed_, drawn_++);
  for (const auto& [token, probability] : all)
    if ((left -= probability) < 0) return token;
  return all.back().token;
}

}  // namespace sten
