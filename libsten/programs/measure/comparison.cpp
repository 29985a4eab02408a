// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/measure/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "libsten/core/base/parallel.h"
#include "libsten/core/base/scalars.h"

namespace sten {
namespace {

double distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double d = std::abs(a - b);
  return std::isfinite(d) ? d : std::numeric_limits<double>::infinity();
}

struct Row {
  std::ptrdiff_t best;  // of the largest logit; -1 with a NaN
  double log_of_sum;    // of exp(logits)
};

Row row_of(const float* x, Index classes) {
  const float* most = std::max_element(x, x + classes);
  double sum = 0;
  for (Index c = 0; c < classes; ++c) sum += std::exp(double{x[c]} - *most);
  const bool has_nan = std::any_of(x, x + classes, [](float v) { return std::isnan(v); });
  return {has_nan ? -1 : most - x, std::log(sum) + *most};
}

}  // namespace

void OutputDifference::add(const Dense& a, const Dense& b) {
  with_scalar(a.dtype(), [&]<class U>(U, auto number) {
    const auto x = a.values.as<U>(), y = b.values.as<U>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double d =
          distance(static_cast<double>(number(x[i])), static_cast<double>(number(y[i])));
      largest = std::max(largest, d);
      sum += d;
    }
  });
  count += a.size();
}

double LogitsDifference::agreement() const {
  return rows ? static_cast<double>(agreed) / static_cast<double>(rows) : 1;
}
double LogitsDifference::mean_divergence() const {
  return rows ? divergence / static_cast<double>(rows) : 0;
}

void LogitsDifference::add(const Dense& logits, const Dense& reference,
                           const std::vector<bool>& counts) {
  const Index classes = logits.extents.back(), n = classes ? logits.size() / classes : 0;
  const float* x = logits.values.as<float>().data();
  const float* y = reference.values.as<float>().data();
  const auto is_counted = [&](Index r) { return counts.empty() || counts[r]; };
  std::vector<double> divergences(n);
  std::vector<std::uint8_t> same(n);
  parallel_for(n, 16, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      if (!is_counted(r)) continue;
      const float *a = x + r * classes, *b = y + r * classes;
      const Row ours = row_of(a, classes), wanted = row_of(b, classes);
      const bool has_nan = ours.best < 0 || wanted.best < 0;
      double sum = has_nan ? std::numeric_limits<double>::quiet_NaN() : 0;
      for (Index c = 0; c < classes; ++c) {
        const double log_wanted = b[c] - wanted.log_of_sum;
        if (const double p = std::exp(log_wanted); p > 0)
          sum += p * (log_wanted - (a[c] - ours.log_of_sum));
      }
      divergences[r] = sum;
      same[r] = ours.best >= 0 && ours.best == wanted.best;
    }
  });
  for (Index r = 0; r < n; ++r) {
    divergence += divergences[r];
    agreed += same[r];
    rows += is_counted(r);
  }
}

}  // namespace sten
