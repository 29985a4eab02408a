// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/task/weight_stages.h"

#include <algorithm>
#include <array>
#include <set>

#include "libsten/core/base/parallel.h"
#include "libsten/core/base/random.h"
#include "libsten/core/base/text.h"
#include "libsten/core/registry/registry.h"
#include "libsten/core/registry/route.h"
#include "libsten/training/recipe/targets.h"

namespace sten {
namespace {

// Seeds of random sparsifiers differ by weight.
Spec for_weight(Spec by, const std::string& weight, std::uint64_t seed) {
  if (!by.has("seed") && registry().sparsifier(by).has_seed())
    by.set("seed", static_cast<Index>(seed_for(seed, weight) >> 1));
  return by;
}

// The part of a sparsifier that decides the supported shapes, without the sparsity.
std::string kind_of(const Spec& by) {
  Spec kind(by.name());
  for (const auto& [key, value] : by.args())
    if (std::ranges::count(std::to_array<std::string_view>({"sparsity", "fraction", "seed"}),
                           key) == 0)
      kind.set(key, value);
  return kind.str();
}

bool is_of_linear(const std::string& weight, const Graph& g) {
  return std::ranges::any_of(
      g.nodes(), [&](const Node& n) { return n.op == Name("linear") && n.inputs[1] == weight; });
}

}  // namespace

Dense random_values(const Shape& shape) {
  Dense x{shape, Values::uninitialized(DType::F32, size_of(shape))};
  float* to = x.values.mutate<float>().data();
  parallel_for(x.size(), mask_grain, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i)
      to[i] = static_cast<float>(random_uniform(0, static_cast<std::uint64_t>(i)) - 0.5);
  });
  return x;
}

Shape smaller_shape(Shape shape) {
  constexpr Index most = 1680, period = 840;
  for (Index& e : shape)
    if (e > most) e = period + e % period;
  return shape;
}

const SparsityStage* WeightStages::beginning(Index step) const {
  const auto at = std::ranges::find(stages, step, &SparsityStage::step);
  return at == stages.end() ? nullptr : &*at;
}

const SparsityStage* WeightStages::current(Index step) const {
  const SparsityStage* last = nullptr;
  for (const SparsityStage& s : stages)
    if (s.step <= step) last = &s;
  return last;
}

bool WeightStages::refreshes(Index step) const {
  return mask.refresh > 0 && step < mask.end && step > mask_begin &&
         (step - mask_begin) % mask.refresh == 0 && step > stages.front().step;
}

std::vector<WeightStages> weight_stages(const Recipe& r, const Graph& g) {
  std::vector<WeightStages> weights;
  const auto targets = match_targets(r.sparsity, g.weights());
  for (std::size_t e = 0; e < targets.size(); ++e) {
    const SparsityRecipe& entry = r.sparsity[e];
    const Index n = std::ssize(targets[e]);
    for (Index k = 0; k < n; ++k) {
      WeightStages& p = weights.emplace_back();
      p.weight = targets[e][static_cast<std::size_t>(k)];
      p.entry = e;
      p.layout = entry.layout;
      p.save = entry.save;
      try {
        p.stages = sparsity_stages(entry, k, n, r.steps);
      } catch (const Error& error) {
        throw Error(error.fault(), fmt::format("/sparsity/{}/schedule: {}", e, error.what()));
      }
      for (SparsityStage& stage : p.stages) stage.by = for_weight(stage.by, p.weight, r.seed);
      p.mask = entry.mask;
      p.mask_begin = entry.schedule.begin;
      p.calibration = entry.calibration;
      p.scores = entry.scores;
      p.is_global = entry.is_global();
      if (p.scores && p.stages.back().step >= p.scores->end)
        fail_usage("/sparsity/{}/scores/end: {} must be after the last stage, at step {}", e,
                   p.scores->end, p.stages.back().step);
      if (p.calibration && !is_of_linear(p.weight, g))
        fail_usage("/sparsity/{}/calibration: {} is not the weight of a linear layer", e,
                   quote(p.weight));
    }
  }
  return weights;
}

void try_sparsity(const std::vector<WeightStages>& weights, const Graph& g, bool in_little_memory) {
  std::set<std::string> tried;
  for (const WeightStages& p : weights) {
    Shape shape = g.find_weight(p.weight)->shape;
    if (in_little_memory) shape = smaller_shape(shape);
    for (const SparsityStage& stage : p.stages) {
      const bool is_last = &stage == &p.stages.back();
      if (!tried
               .insert(fmt::format("{} {} {} {}", to_string(shape), kind_of(stage.by),
                                   p.layout.str(), is_last ? p.save.str() : ""))
               .second)
        continue;
      try {
        const Dense values = random_values(shape);
        Hints hints;
        hints.scores = &values;
        const Tensor pruned = registry().prune(values, stage.by, p.layout, hints);
        if (is_last) convert(pruned, p.save);
      } catch (const Error& e) {
        throw Error(e.fault(), fmt::format("{}: {}", quote(p.weight), e.what()));
      }
    }
  }
}

}  // namespace sten
