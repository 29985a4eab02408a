// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/score_training.h"

#include <algorithm>

#include "libsten/core/base/fallback.h"
#include "libsten/core/base/random.h"
#include "libsten/core/registry/registry.h"
#include "libsten/training/optim/select.h"

namespace sten {
namespace {

Mask selected_by(const Spec& by, const Tensor& w, const Tensor& scores) {
  const Dense s = scores.as<Dense>();
  Hints hints;
  hints.scores = &s;
  return registry().sparsifier(by).select(w.as<Dense>(), hints);
}

void erase_score_state(Parameter& p) {
  std::erase_if(p.state, [](const auto& s) { return s.first.starts_with(score_state); });
}

}  // namespace

// The CPU weight, which must outlive the result.
ScoredWeight ScoreTraining::scored(std::size_t i, const Dense& w) const {
  const TrainState& state = weights_.state;
  const std::string& name = state.parameters[i].name;
  const auto selected = selected_.find(i);
  const std::uint64_t seed = seed_for(seed_for(weights_.task.recipe().seed, "scores"), name);
  return {w, state.scores.at(name).as<Dense>(),
          selected == selected_.end() ? nullptr : &selected->second,
          random_bits(seed, static_cast<std::uint64_t>(state.step))};
}

Dense ScoreTraining::value_here(std::size_t i) const {
  if (weights_.device != Device::cpu) report_on_cpu("learned scores", weights_.device);
  return weights_.state.parameters[i].value.as<Dense>().to(Device::cpu);
}

bool ScoreTraining::begin(std::size_t i) {
  WeightSparsity& s = weights_.sparsity[i];
  const TrainState& state = weights_.state;
  if (state.step == s.stages->scores->end) {
    end(i);
    return true;
  }
  const SparsityStage* stage = s.stages->current(state.step);
  if (!s.learns_scores(state.step) || !stage) return false;
  const Dense w = value_here(i);
  const Mask& selected =
      selected_
          .insert_or_assign(i, selected_by(stage->by, w, state.scores.at(state.parameters[i].name)))
          .first->second;
  s.kept = selected.count();
  s.computing = s.learned->computing(scored(i, w)).to(weights_.device);
  return false;
}

void ScoreTraining::end(std::size_t i) {
  WeightSparsity& s = weights_.sparsity[i];
  Parameter& p = weights_.state.parameters[i];
  const SparsityStage& stage = s.stages->stages.back();
  const Dense scores = weights_.state.scores.at(p.name).as<Dense>();
  selected_.erase(i);
  s.computing.reset();
  p.value = s.learned->measured(scored(i, value_here(i))).to(weights_.device);
  erase_score_state(p);
  weights_.state.scores.erase(p.name);
  select_positions(p, registry().sparsifier(stage.by), s.stages->layout, &scores);
}

void ScoreTraining::take_gradients(StepExchange::Gradients& gradients) {
  const Index step = weights_.state.step;
  gradients_.clear();
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const WeightSparsity& s = weights_.sparsity[i];
    if (!gradients[i] || !s.learns_scores(step) || !(s.computing || s.learned->learn_dense()))
      continue;
    const ScoresRecipe& r = *s.stages->scores;
    const auto since = static_cast<double>(step - s.stages->stages.front().step + 1);
    const double rise = r.warmup > 0 ? std::min(1.0, since / static_cast<double>(r.warmup)) : 1;
    Dense g = std::exchange(gradients[i], {})->to_dense().to(Device::cpu);
    const Dense w = value_here(i);
    gradients_.emplace(i, s.learned->backward(scored(i, w), s.computing ? rise * r.penalty : 0, g));
    gradients[i] = weights_.device == Device::cpu ? std::move(g) : g.to(weights_.device);
  }
}

void ScoreTraining::update(const RecipeOptimizer& optimizer, double rate) {
  const double usual_rate = weights_.task.recipe().optimizer.rate;
  for (const auto& [i, gradient] : gradients_) {
    Parameter& p = weights_.state.parameters[i];
    Parameter scores(p.name, weights_.state.scores.extract(p.name).mapped());
    for (auto& [key, s] : p.state)
      if (key.starts_with(score_state))
        scores.state.emplace(key.substr(score_state.size()), std::move(s));
    erase_score_state(p);
    const double score_rate = weights_.sparsity[i].stages->scores->rate * rate / usual_rate;
    optimizer.without_decay(score_rate).step(scores, gradient);
    for (auto& [key, s] : scores.state)
      p.state.emplace(std::string(score_state) + key, std::move(s));
    weights_.state.scores.emplace(p.name, std::move(scores.value));
    weights_.sparsity[i].computing.reset();
  }
  gradients_.clear();
}

Tensor ScoreTraining::measured(std::size_t i) const {
  const WeightSparsity& s = weights_.sparsity[i];
  const Parameter& p = weights_.state.parameters[i];
  const SparsityStage* stage = s.stages->current(weights_.state.step - 1);
  const auto scores = weights_.state.scores.find(p.name);
  if (!stage || scores == weights_.state.scores.end()) return p.value;
  const Dense w = value_here(i);
  return registry()
      .pack(s.learned->measured(scored(i, w)).to_dense(), selected_by(stage->by, w, scores->second),
            s.stages->layout)
      .to(weights_.device);
}

}  // namespace sten
