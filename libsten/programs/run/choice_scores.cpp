// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/run/choice_scores.h"

#include <fmt/format.h>

#include <algorithm>

namespace sten {
namespace {

Index best(const std::vector<double>& scores) {
  return std::ranges::max_element(scores) - scores.begin();
}

std::vector<double> scores_of(const ChoiceQuestion& q, std::span<const double> likelihoods,
                              bool by_length) {
  std::vector<double> scores;
  for (std::size_t i = 0; i < q.lengths.size(); ++i)
    scores.push_back(likelihoods[static_cast<std::size_t>(q.first) + i] /
                     (by_length ? std::max(q.lengths[i], 1.0) : 1.0));
  return scores;
}

}  // namespace

ChoiceAccuracy choice_accuracy(std::span<const ChoiceQuestion> questions,
                               std::span<const double> likelihoods) {
  Index right = 0, right_norm = 0;
  for (const ChoiceQuestion& q : questions) {
    right += best(scores_of(q, likelihoods, false)) == q.answer;
    right_norm += best(scores_of(q, likelihoods, true)) == q.answer;
  }
  const Index n = std::ssize(questions);
  return {share(right, n), share(right_norm, n)};
}

void add_accuracies(std::span<const ChoiceQuestion> questions, std::span<const double> likelihoods,
                    Report& r) {
  const ChoiceAccuracy a = choice_accuracy(questions, likelihoods);
  r.facts.emplace_back("accuracy", a.accuracy);
  r.facts.emplace_back("accuracy_norm", a.accuracy_norm);
  r.facts.emplace_back("count", std::ssize(questions));
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const std::vector<double> scores = scores_of(questions[i], likelihoods, false);
    for (std::size_t c = 0; c < scores.size(); ++c)
      r.facts.emplace_back(fmt::format("likelihoods/{}/{}", i, c), scores[c]);
  }
  r.notes.push_back(fmt::format("accuracy {:.2f} %, accuracy_norm {:.2f} % of {} questions",
                                100 * a.accuracy, 100 * a.accuracy_norm, questions.size()));
}

}  // namespace sten
