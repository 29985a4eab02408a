// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/recipe/rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sten {
namespace {

double without_warmup(const RateRecipe& r, Index t, Index steps) {
  if (r.kind == "step") return std::pow(r.factor, static_cast<double>(t / r.every));
  if (r.kind == "piecewise") {
    double factor = 1;
    for (const auto& [from, then] : r.points)
      if (from <= t) factor = then;
    return factor;
  }
  if (r.kind == "cosine" && t >= r.warmup) {
    const double done = static_cast<double>(t - r.warmup) / static_cast<double>(steps - r.warmup);
    return r.end + (1 - r.end) * 0.5 * (1 + std::cos(std::numbers::pi * done));
  }
  return 1;
}

}  // namespace

double rate_factor(const RateRecipe& r, Index t, Index steps, std::span<const Index> stages) {
  if (r.rewind) {
    const auto next = std::ranges::upper_bound(stages, t);
    if (next != stages.end()) steps = *next;
    if (next != stages.begin()) {
      const Index begin = *std::prev(next);
      t -= begin;
      steps -= begin;
    }
  }
  const double factor = without_warmup(r, t, steps);
  if (t >= r.warmup) return factor;
  return factor * static_cast<double>(t + 1) / static_cast<double>(r.warmup);
}

}  // namespace sten
