// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/recipe/sparsity_schedule.h"

#include <cmath>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"

namespace sten {
namespace {

constexpr Index most_stages = 10000;
// Tolerance for decimal fractions.
constexpr double rounding = 1e-9;

void check_ends(double from, double to) {
  if (to < from) fail_usage("final sparsity {} is below the first sparsity {}", to, from);
}

double at_time(std::string_view kind, double a, double b, double t) {
  if (kind == "linear") return a + (b - a) * t;
  if (kind == "cubic") return b + (a - b) * std::pow(1 - t, 3);
  return 1 - std::pow(1 - a, 1 - t) * std::pow(1 - b, t);
}

// Formats 0.1 + 0.2 as 0.3.
std::string decimal(double v) { return fmt::format("{}", std::round(v * 1e12) / 1e12); }

// Sparsifiers of all stages; layer-wise: of all layers.
std::vector<Spec> sparsifiers_of(const SparsityRecipe& s, Index layers) {
  const ScheduleRecipe& by = s.schedule;
  if (by.kind == "one-shot") return {s.sparsifier};
  if (by.kind == "layer-wise") return std::vector(static_cast<std::size_t>(layers), s.sparsifier);
  if (!by.sparsifiers.empty()) return by.sparsifiers;
  const std::string key = sparsity_key(s.sparsifier);
  const double to = s.sparsifier.number(key);
  const auto sparsities = by.kind == "iterative"
                              ? iterative_sparsities(by.from, to, by.step)
                              : gradual_sparsities(by.kind, by.from, to, by.stages);
  std::vector<Spec> all(sparsities.size(), s.sparsifier);
  // The last stage keeps the sparsifier's own value.
  for (std::size_t i = 0; i + 1 < all.size(); ++i) all[i].set(key, decimal(sparsities[i]));
  return all;
}

}  // namespace

std::vector<double> iterative_sparsities(double from, double to, double step) {
  check_ends(from, to);
  if (!(step > 0 && step <= 1)) fail_usage("step: expected a value in (0, 1], got {}", step);
  if ((to - from) / step > static_cast<double>(most_stages))
    fail_usage("step: {} gives more than {} stages", step, most_stages);
  std::vector<double> at;
  for (Index i = 0;; ++i) {
    const double s = from + static_cast<double>(i) * step;
    if (s > to - rounding) break;
    at.push_back(s);
  }
  at.push_back(to);
  return at;
}

std::vector<double> gradual_sparsities(std::string_view kind, double from, double to,
                                       Index stages) {
  check_ends(from, to);
  if (stages < 1 || stages > most_stages)
    fail_usage("stages: expected an integer in [1, {1}], got {0}", stages, most_stages);
  if (kind == "exponential" && to == 1)
    fail_usage("to: an exponential schedule does not reach 1 (use a value < 1)");
  std::vector<double> at;
  for (Index t = 1; t < stages; ++t)
    at.push_back(at_time(kind, from, to, static_cast<double>(t) / static_cast<double>(stages)));
  at.push_back(to);
  return at;
}

std::string sparsity_key(const Spec& sparsifier) {
  for (const char* key : {"sparsity", "fraction"})
    if (sparsifier.has(key)) return key;
  fail_usage("{} has no sparsity that can rise in stages", quote(sparsifier.str()));
}

Index steps_per_round(const ScheduleRecipe& by, Index n) {
  // Not n * rounds, which can overflow.
  const Index length = by.end - by.begin, steps = length / n / by.recovery.rounds;
  if (steps == 0)
    fail_usage("{} weights of {} rounds each do not fit into {} steps", n, by.recovery.rounds,
               length);
  return steps;
}

std::vector<SparsityStage> sparsity_stages(const SparsityRecipe& entry, Index k, Index n,
                                           Index steps) {
  const bool one = entry.schedule.kind == "one-shot";
  const Index begin = entry.schedule.begin;
  const Index end = entry.schedule.end == 0 || one ? steps : entry.schedule.end;
  if (begin < 0 || begin >= end || end > steps)
    fail_usage("steps {} to {} are not within the {} steps of the run", begin, end, steps);
  if (entry.schedule.prunes_until_recovered()) {
    ScheduleRecipe by = entry.schedule;
    by.end = end;
    steps_per_round(by, n);
    return {{undecided_step, entry.sparsifier}};
  }
  const std::vector<Spec> all = sparsifiers_of(entry, n);
  const Index count = std::ssize(all), length = end - begin;
  if (count > length) fail_usage("{} stages do not fit into {} steps", count, length);
  std::vector<SparsityStage> stages;
  for (Index i = 0; i < count; ++i)
    if (entry.schedule.kind != "layer-wise" || i == k)
      stages.push_back({begin + i * length / count, all[static_cast<std::size_t>(i)]});
  return stages;
}

}  // namespace sten
