#include "libsten/base/error.h"
#include "libsten/recipe/sparsity_schedule.h"

namespace sten {
namespace {

void fill_in(SparsityRecipe& s, Index steps, const std::string& at) {
  ScheduleRecipe& by = s.schedule;
  const auto check_end = [&](Index end, const char* key) {
    if (end > steps) fail_usage("{}{}: {} is after the last of {} steps", at, key, end, steps);
  };
  if (by.begin >= steps)
    fail_usage("{}/schedule/begin: {} is after the last of {} steps", at, by.begin, steps);
  if (by.end == 0 || by.kind == "one-shot") by.end = steps;
  check_end(by.end, "/schedule/end");
  if (s.mask.end == 0) s.mask.end = steps;
  check_end(s.mask.end, "/mask/end");
  if (s.scores && s.scores->end == 0) s.scores->end = steps;
  if (s.scores) check_end(s.scores->end, "/scores/end");
  try {
    sparsity_stages(s, 0, 1, steps);
  } catch (const Error& e) {
    fail_usage("{}/schedule: {}", at, e.what());
  }
}

void fill_in(FormatRecipe& f, Index steps, const std::string& at) {
  if (f.begin >= steps)
    fail_usage("{}/begin: {} is after the last of {} steps", at, f.begin, steps);
  if (f.end == 0) f.end = steps;
  if (f.end > steps) fail_usage("{}/end: {} is after the last of {} steps", at, f.end, steps);
}

}  // namespace

Recipe in_steps(Recipe r, Index steps) {
  if (steps < 1) fail_usage("/epochs: make {} steps", steps);
  r.steps = steps;
  r.epochs = 0;
  if (r.rate.warmup > steps)
    fail_usage("/rate/warmup: {} is more than all {} steps", r.rate.warmup, steps);
  if (r.rate.rewind && r.sparsity.empty())
    fail_usage("/rate/rewind: there is no sparsity whose stages it could begin again at");
  for (std::size_t i = 0; i < r.sparsity.size(); ++i)
    fill_in(r.sparsity[i], steps, fmt::format("/sparsity/{}", i));
  for (std::size_t i = 0; i < r.formats.size(); ++i)
    fill_in(r.formats[i], steps, fmt::format("/formats/{}", i));
  return r;
}

}  // namespace sten
