// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/task/predictions.h"

#include <algorithm>
#include <cmath>

#include "libsten/core/base/parallel.h"

namespace sten {

PredictionSums& PredictionSums::operator+=(const PredictionSums& more) {
  loss += more.loss;
  hits += more.hits;
  count += more.count;
  f1.resize(std::max(f1.size(), more.f1.size()));
  for (std::size_t i = 0; i < more.f1.size(); ++i) f1[i] += more.f1[i];
  return *this;
}

Measured PredictionSums::measured() const {
  if (count == 0) return {};
  const auto n = static_cast<double>(count);
  return {loss / n, static_cast<double>(hits) / n, count, f1_of(f1)};
}

PredictionSums predictions_of(const Dense& logits, const Dense& labels, const F1Scorer* scorer) {
  const Index n = labels.size(), classes = logits.extents.back();
  const float* x = logits.values.as<float>().data();
  const std::int64_t* y = labels.values.as<std::int64_t>().data();
  std::vector<double> losses(n);
  std::vector<std::uint8_t> hits(n);
  parallel_for(n, 16, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      if (y[r] == ignored_label) continue;
      const float* row = x + r * classes;
      const float* most = std::max_element(row, row + classes);
      double sum = 0;
      for (Index c = 0; c < classes; ++c) sum += std::exp(double{row[c]} - *most);
      losses[r] = std::log(sum) + *most - row[y[r]];
      // A row with NaN logits is not a hit.
      hits[r] = most - row == y[r] &&
                std::none_of(row, row + classes, [](float v) { return std::isnan(v); });
    }
  });
  PredictionSums s;
  if (scorer) s.f1 = scorer->counts(logits, labels);
  for (Index r = 0; r < n; ++r) {
    s.loss += losses[r];
    s.hits += hits[r];
    s.count += y[r] != ignored_label;
  }
  return s;
}

}  // namespace sten
