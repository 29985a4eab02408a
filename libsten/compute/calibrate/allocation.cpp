// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/calibrate/allocation.h"

#include <algorithm>
#include <cmath>

#include "libsten/compute/calibrate/scores.h"
#include "libsten/core/base/error.h"

namespace sten {
namespace {

using namespace calibrate;

constexpr double outlier = 5, most_apart = 0.08;

// A segment of a curve: slope per element and range of sparsities.
struct Step {
  double slope = 0, from = 0, to = 0;  // sparsities
  std::size_t layer = 0;
};

// Appends the lower convex hull of the curve; slopes ascend.
void add_hull(const LayerCurve& c, std::size_t layer, std::vector<Step>& steps) {
  const Index n = std::ssize(c.errors);
  for (Index at = 0; at + 1 < n;) {
    Index next = at + 1;
    const auto slope = [&](Index to) {
      return (c.errors[to] - c.errors[at]) / static_cast<double>(to - at);
    };
    for (Index to = at + 2; to < n; ++to)
      if (slope(to) <= slope(next)) next = to;
    const auto share = [](Index k) {
      return static_cast<double>(k) / static_cast<double>(allocation_steps);
    };
    steps.push_back({slope(next) / static_cast<double>(c.elements), share(at), share(next), layer});
    at = next;
  }
}

}  // namespace

LayerCurve layer_curve(const Dense& w, const InputStatistics& inputs, const CalibratedOptions& o) {
  CalibratedOptions by = o;
  LayerCurve c{w.size(), {0}};
  for (Index k = 1; k < allocation_steps; ++k) {
    by.structure.set("sparsity", fmt::format("{}", static_cast<double>(k) / allocation_steps));
    c.errors.push_back(prune_layer(w, inputs, by).error);
  }
  return c;
}

double error_at(const LayerCurve& c, double sparsity) {
  const double at = sparsity * allocation_steps;
  const auto low = std::min<Index>(static_cast<Index>(at), std::ssize(c.errors) - 2);
  const double share = at - static_cast<double>(low);
  return (1 - share) * c.errors[low] + share * c.errors[low + 1];
}

std::vector<double> allocate_by_error(const std::vector<LayerCurve>& layers, double sparsity) {
  std::vector<Step> steps;
  double all = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    add_hull(layers[i], i, steps);
    all += static_cast<double>(layers[i].elements);
  }
  constexpr double most = 1 - 1.0 / allocation_steps;
  if (sparsity > most)
    fail_usage("--allocate: sparsity must be at most {}, got {}", most, sparsity);
  std::ranges::stable_sort(steps, {}, &Step::slope);
  std::vector<double> at(layers.size());
  double left = sparsity * all;
  for (const Step& s : steps) {
    const auto elements = static_cast<double>(layers[s.layer].elements);
    const double taken = std::min(left, (s.to - s.from) * elements);
    at[s.layer] = s.from + taken / elements;
    left -= taken;
    if (left <= 0) break;
  }
  return at;
}

LayerOutliers layer_outliers(const Dense& x, const InputStatistics& inputs,
                             const CalibratedOptions& o) {
  const auto of_x = matrix_of<float>(x, scale_exponent(x));
  const auto ranks = ranks_of("wanda", o.transposed ? transposed(of_x) : of_x, inputs);
  double sum = 0;
  for (const float r : ranks.values) sum += std::abs(r);
  const double bar = outlier * sum / static_cast<double>(ranks.values.size());
  const auto above = std::ranges::count_if(ranks.values, [&](float r) { return r > bar; });
  return {x.size(), static_cast<double>(above) / static_cast<double>(ranks.values.size())};
}

std::vector<double> allocate_by_outliers(const std::vector<LayerOutliers>& layers,
                                         double sparsity) {
  std::vector<double> at(layers.size(), sparsity);
  if (layers.empty()) return at;
  const auto [low, high] = std::ranges::minmax(layers, {}, &LayerOutliers::share);
  double all = 0, mean = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto elements = static_cast<double>(layers[i].elements);
    const double place =
        high.share > low.share ? (layers[i].share - low.share) / (high.share - low.share) : 0.5;
    at[i] = -2 * most_apart * place;
    all += elements;
    mean += elements * at[i];
  }
  mean /= all;
  for (double& s : at) {
    s += sparsity - mean;
    if (s < 0 || s >= 1)
      fail_usage(
          "--allocate owl: a layer would have sparsity {:.3f} (--sparsity {} is too close to {})",
          s, sparsity, s < 0 ? 0 : 1);
  }
  return at;
}

}  // namespace sten
