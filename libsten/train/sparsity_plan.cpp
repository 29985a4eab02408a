#include "libsten/train/sparsity_plan.h"

#include <algorithm>

#include "libsten/base/random.h"
#include "libsten/recipe/targets.h"

namespace sten {
namespace {

// What random sparsifiers begin with differs from weight to weight.
Spec for_weight(Spec by, const std::string& weight, std::uint64_t seed) {
  if (by.is("random") && !by.has("seed"))
    by.set("seed", static_cast<Index>(seed_for(seed, weight) >> 1));
  return by;
}

}  // namespace

const SparsityStage* WeightPlan::beginning(Index step) const {
  const auto at = std::ranges::find(stages, step, &SparsityStage::step);
  return at == stages.end() ? nullptr : &*at;
}

const SparsityStage* WeightPlan::current(Index step) const {
  const SparsityStage* last = nullptr;
  for (const SparsityStage& s : stages)
    if (s.step <= step) last = &s;
  return last;
}

bool WeightPlan::refreshes(Index step) const {
  return refresh > 0 && step < refresh_end && step > refresh_begin &&
         (step - refresh_begin) % refresh == 0 && step > stages.front().step;
}

std::vector<WeightPlan> plan_sparsity(const Recipe& r, const Graph& g) {
  std::vector<WeightPlan> plans;
  const auto targets = match_targets(r.sparsity, g.weights());
  for (std::size_t e = 0; e < targets.size(); ++e) {
    const SparsityRecipe& entry = r.sparsity[e];
    const Index n = std::ssize(targets[e]);
    for (Index k = 0; k < n; ++k) {
      WeightPlan& p = plans.emplace_back();
      p.weight = targets[e][static_cast<std::size_t>(k)];
      p.layout = entry.layout;
      p.save = entry.save;
      try {
        p.stages = sparsity_stages(entry, k, n, r.steps);
      } catch (const Error& error) {
        throw Error(error.fault(), fmt::format("/sparsity/{}/schedule: {}", e, error.what()));
      }
      for (SparsityStage& stage : p.stages) stage.by = for_weight(stage.by, p.weight, r.seed);
      p.refresh = entry.refresh;
      p.refresh_begin = entry.schedule.begin;
      p.refresh_end = entry.refresh_end;
    }
  }
  return plans;
}

}  // namespace sten
