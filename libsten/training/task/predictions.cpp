// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/task/predictions.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

SlicedPredictions::SlicedPredictions(const Dense& labels)
    : labels_(labels.values), rows_(labels.size(), {-std::numeric_limits<double>::infinity()}) {}

void SlicedPredictions::add(const Dense& logits) {
  const Index classes = logits.extents.back();
  const float* x = logits.values.as<float>().data();
  const std::int64_t* y = labels_.as<std::int64_t>().data();
  parallel_for(std::ssize(rows_), 16, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      if (y[r] == ignored_label) continue;
      const float* row = x + r * classes;
      const float* most = std::max_element(row, row + classes);
      double sum = 0;
      for (Index c = 0; c < classes; ++c) sum += std::exp(double{row[c]} - *most);
      Row& at = rows_[r];
      if (y[r] >= classes_ && y[r] < classes_ + classes) at.label = row[y[r] - classes_];
      at.has_nan |= std::any_of(row, row + classes, [](float v) { return std::isnan(v); });
      if (*most > at.most) at.first_most = classes_ + (most - row);
      // Logits of -infinity add nothing.
      if (std::isinf(*most) && *most < 0) continue;
      const double both = std::max(at.most, double{*most});
      at.sum = at.sum * std::exp(at.most - both) + sum * std::exp(*most - both);
      at.most = both;
    }
  });
  classes_ += classes;
}

PredictionSums SlicedPredictions::sums() const {
  const std::int64_t* y = labels_.as<std::int64_t>().data();
  PredictionSums s;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    if (y[r] == ignored_label) continue;
    const Row& at = rows_[r];
    s.loss += at.has_nan ? std::numeric_limits<double>::quiet_NaN()
                         : std::log(at.sum) + at.most - at.label;
    s.hits += at.first_most == y[r] && !at.has_nan;
    ++s.count;
  }
  return s;
}

PredictionSums predictions_of(const Dense& logits, const Dense& labels, const F1Scorer* scorer) {
  SlicedPredictions all(labels);
  all.add(logits);
  PredictionSums s = all.sums();
  if (scorer) s.f1 = scorer->counts(logits, labels);
  return s;
}

}  // namespace sten
