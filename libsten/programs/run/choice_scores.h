// SPDX-License-Identifier: Apache-2.0
// Multiple choice by likelihood, as in lm-evaluation-harness.
#pragma once
#include <span>
#include <vector>

#include "libsten/core/base/shape.h"
#include "libsten/report/report.h"

namespace sten {

struct ChoiceQuestion {
  Index first;                  // the row of its first choice
  Index answer;                 // index of a choice
  std::vector<double> lengths;  // characters of each choice
};

struct ChoiceAccuracy {
  double accuracy = 0;       // share of questions whose answer has the largest likelihood
  double accuracy_norm = 0;  // the same for log-likelihoods divided by the length
};

// `likelihoods`: the sum of the log-likelihoods of a choice's tokens, by row. The first one of
// equals counts.
ChoiceAccuracy choice_accuracy(std::span<const ChoiceQuestion> questions,
                               std::span<const double> likelihoods);

// Adds facts: the accuracies, and the log-likelihoods of each question.
void add_accuracies(std::span<const ChoiceQuestion> questions, std::span<const double> likelihoods,
                    Report& r);

}  // namespace sten
