// Training of weights with learned scores.
#include <algorithm>

#include "libsten/core/base/fallback.h"
#include "libsten/core/base/random.h"
#include "libsten/core/registry/registry.h"
#include "libsten/training/optim/select.h"
#include "libsten/training/trainer/trainer.h"

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

bool Trainer::learns_scores(std::size_t i) const {
  return sparse_[i].learned && sparse_[i].stages->has_scores(state_.step);
}

// The CPU weight, which must outlive the result; scores are on the CPU.
ScoredWeight Trainer::scored(std::size_t i, const Dense& w) const {
  const Parameter& p = state_.parameters[i];
  const auto& selected = sparse_[i].selected;
  const std::uint64_t seed = seed_for(seed_for(task_->recipe().seed, "scores"), p.name);
  return {w, state_.scores.at(p.name).as<Dense>(), selected ? &*selected : nullptr,
          random_bits(seed, static_cast<std::uint64_t>(state_.step))};
}

Dense Trainer::value_here(std::size_t i) const {
  if (device_ != Device::cpu) report_on_cpu("learned scores", device_);
  return state_.parameters[i].value.as<Dense>().to(Device::cpu);
}

// Computes the weight of this step's forward pass.
void Trainer::begin_scores(std::size_t i) {
  Sparse& s = sparse_[i];
  if (state_.step == s.stages->scores->end) return end_scores(i);
  const SparsityStage* stage = s.stages->current(state_.step);
  if (!learns_scores(i) || !stage) return;
  const Parameter& p = state_.parameters[i];
  const Dense w = value_here(i);
  s.selected = selected_by(stage->by, w, state_.scores.at(p.name));
  s.kept = s.selected->count();
  s.computing = s.learned->computing(scored(i, w)).to(device_);
}

// Replaces the weight by its measured value, and fixes its mask.
void Trainer::end_scores(std::size_t i) {
  Sparse& s = sparse_[i];
  Parameter& p = state_.parameters[i];
  const SparsityStage& stage = s.stages->stages.back();
  const Dense scores = state_.scores.at(p.name).as<Dense>();
  s.selected.reset();
  s.computing.reset();
  p.value = s.learned->measured(scored(i, value_here(i))).to(device_);
  erase_score_state(p);
  state_.scores.erase(p.name);
  select_positions(p, registry().sparsifier(stage.by), s.stages->layout, &scores);
  count(i);
}

// Replaces the gradients of the forward weights by those of the weights, and computes those of
// scores.
void Trainer::take_score_gradients(Gradients& gradients) {
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    Sparse& s = sparse_[i];
    s.score_gradient.reset();
    if (!gradients[i] || !learns_scores(i) || !(s.computing || s.learned->learn_dense())) continue;
    const ScoresRecipe& r = *s.stages->scores;
    const auto since = static_cast<double>(state_.step - s.stages->stages.front().step + 1);
    const double rise = r.warmup > 0 ? std::min(1.0, since / static_cast<double>(r.warmup)) : 1;
    Dense g = std::exchange(gradients[i], {})->to_dense().to(Device::cpu);
    const Dense w = value_here(i);
    s.score_gradient = s.learned->backward(scored(i, w), s.computing ? rise * r.penalty : 0, g);
    gradients[i] = device_ == Device::cpu ? std::move(g) : g.to(device_);
  }
}

// Uses the recipe's optimizer, without decay.
void Trainer::update_scores(std::size_t i) {
  Parameter& p = state_.parameters[i];
  Parameter scores(p.name, state_.scores.extract(p.name).mapped());
  for (auto& [key, s] : p.state)
    if (key.starts_with(score_state))
      scores.state.emplace(key.substr(score_state.size()), std::move(s));
  erase_score_state(p);
  const double score_rate =
      sparse_[i].stages->scores->rate * rate() / task_->recipe().optimizer.rate;
  optimizer_.without_decay(score_rate).step(scores, *sparse_[i].score_gradient);
  for (auto& [key, s] : scores.state) p.state.emplace(std::string(score_state) + key, std::move(s));
  state_.scores.emplace(p.name, std::move(scores.value));
  sparse_[i].score_gradient.reset();
  sparse_[i].computing.reset();
}

Tensor Trainer::measured_by_scores(std::size_t i) const {
  const Sparse& s = sparse_[i];
  const Parameter& p = state_.parameters[i];
  const SparsityStage* stage = s.stages->current(state_.step - 1);
  const auto scores = state_.scores.find(p.name);
  if (!stage || scores == state_.scores.end()) return p.value;
  const Dense w = value_here(i);
  return registry()
      .pack(s.learned->measured(scored(i, w)).to_dense(), selected_by(stage->by, w, scores->second),
            s.stages->layout)
      .to(device_);
}

}  // namespace sten
