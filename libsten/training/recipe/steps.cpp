// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "libsten/core/base/error.h"
#include "libsten/training/recipe/sparsity_schedule.h"

namespace sten {
namespace {

// Conflicts with the number of steps, by key.
class Conflicts {
 public:
  explicit Conflicts(Index steps) : steps_(steps) {}
  void check_begin(const std::string& place, Index begin) {
    if (begin >= steps_) add("{}: step {} is after the last of {} steps", place, begin, steps_);
  }
  void check_end(const std::string& place, Index end) {
    if (end > steps_) add("{}: step {} is after the last of {} steps", place, end, steps_);
  }
  template <class... Args>
  void add(fmt::format_string<Args...> text, Args&&... args) {
    all_.push_back(fmt::format(text, std::forward<Args>(args)...));
  }
  std::size_t count() const { return all_.size(); }
  void fail_if_any() const {
    if (!all_.empty()) fail_usage("{} (the key scale multiplies all steps)", fmt::join(all_, "; "));
  }

 private:
  Index steps_;
  std::vector<std::string> all_;
};

void fill_in(SparsityRecipe& s, Index steps, const std::string& at, Conflicts& conflicts) {
  const std::size_t before = conflicts.count();
  ScheduleRecipe& by = s.schedule;
  conflicts.check_begin(at + "/schedule/begin", by.begin);
  if (by.end == 0 || by.kind == "one-shot") by.end = steps;
  conflicts.check_end(at + "/schedule/end", by.end);
  if (s.mask.end == 0) s.mask.end = steps;
  conflicts.check_end(at + "/mask/end", s.mask.end);
  if (s.scores && s.scores->end == 0) s.scores->end = steps;
  if (s.scores) conflicts.check_end(at + "/scores/end", s.scores->end);
  if (conflicts.count() > before) return;
  try {
    sparsity_stages(s, 0, 1, steps);
  } catch (const Error& e) {
    conflicts.add("{}/schedule: {}", at, e.what());
  }
}

void fill_in(FormatRecipe& f, Index steps, const std::string& at, Conflicts& conflicts) {
  conflicts.check_begin(at + "/begin", f.begin);
  if (f.end == 0) f.end = steps;
  conflicts.check_end(at + "/end", f.end);
}

// Multiplies all numbers of steps, except the total, by r.scale. Positive ones stay positive,
// except for first steps.
void scale_steps(Recipe& r) {
  const auto begin = [&](Index& n) {
    n = static_cast<Index>(std::llround(static_cast<double>(n) * r.scale));
  };
  const auto count = [&](Index& n) {
    if (n == 0) return;
    begin(n);
    n = std::max<Index>(1, n);
  };
  count(r.rate.warmup);
  count(r.rate.every);
  std::vector<std::pair<Index, double>> points;
  for (auto [step, factor] : r.rate.points) {
    begin(step);
    if (!points.empty() && points.back().first == step) points.pop_back();
    points.emplace_back(step, factor);
  }
  r.rate.points = std::move(points);
  for (SparsityRecipe& s : r.sparsity) {
    begin(s.schedule.begin);
    count(s.schedule.end);
    count(s.mask.refresh);
    count(s.mask.end);
    if (!s.scores) continue;
    count(s.scores->warmup);
    count(s.scores->end);
  }
  for (FormatRecipe& f : r.formats) {
    begin(f.begin);
    count(f.end);
  }
  begin(r.exchange.begin);
  for (Index* n : {&r.evaluation.every, &r.checkpoint_every, &r.log_every}) count(*n);
}

}  // namespace

Recipe in_steps(Recipe r, Index steps) {
  if (steps < 1) fail_usage("/epochs: expected 1 or more steps, got {}", steps);
  if (r.scale > 0) {
    const double scaled = std::round(static_cast<double>(steps) * r.scale);
    if (scaled < 1 || scaled > 0x1p53)
      fail_usage("/scale: {} times {} steps gives {} steps", r.scale, steps, scaled);
    steps = static_cast<Index>(scaled);
    scale_steps(r);
    r.scale = 0;
  }
  r.steps = steps;
  r.epochs = 0;
  Conflicts conflicts(steps);
  if (r.rate.warmup > steps)
    conflicts.add("/rate/warmup: {} steps are more than the {} steps of the run", r.rate.warmup,
                  steps);
  if (r.rate.rewind && r.sparsity.empty())
    conflicts.add("/rate/rewind: rewind needs sparsity with stages");
  for (std::size_t i = 0; i < r.sparsity.size(); ++i)
    fill_in(r.sparsity[i], steps, fmt::format("/sparsity/{}", i), conflicts);
  for (std::size_t i = 0; i < r.formats.size(); ++i)
    fill_in(r.formats[i], steps, fmt::format("/formats/{}", i), conflicts);
  conflicts.check_begin("/exchange/begin", r.exchange.begin);
  conflicts.fail_if_any();
  return r;
}

}  // namespace sten
