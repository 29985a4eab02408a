// Changes of weights besides optimizer steps: calibration, new positions, and averages.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "libsten/core/base/cuda.h"
#include "libsten/core/base/fallback.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/base/text.h"
#include "libsten/core/layout/masked.h"
#include "libsten/core/registry/registry.h"
#include "libsten/core/sparsify/regrow.h"
#include "libsten/training/optim/select.h"
#include "libsten/training/trainer/calibration.h"
#include "libsten/training/trainer/trainer.h"
#include "libsten/training/trainer/weight_averages.h"

namespace sten {

void Trainer::select(std::size_t i, const Spec& by) {
  Parameter& p = weights_.state.parameters[i];
  const Sparsifier s = registry().sparsifier(by);
  std::optional<Dense> scores;
  if (s.needs_scores()) {
    const auto at = weights_.state.scores.find(p.name);
    if (at == weights_.state.scores.end())
      fail_usage("{}: missing gradients for {}", quote(p.name), by.name());
    scores = at->second.as<Dense>();
  }
  select_positions(p, s, weights_.sparsity[i].stages->layout, scores ? &*scores : nullptr);
  count(i);
}

// Replaces values by calibrated ones; select() then finds their positions.
void Trainer::calibrate() {
  LayerOptions how;
  Index rows = 0;
  for (const WeightSparsity& s : weights_.sparsity) {
    if (!s.stages || !s.stages->calibration) continue;
    const SparsityStage* stage = s.stages->beginning(weights_.state.step);
    if (!stage) continue;
    const CalibrationRecipe& c = *s.stages->calibration;
    how.emplace(s.stages->weight, CalibratedOptions{c.method, stage->by, c.scope == "row", false,
                                                    c.reconstruct, c.damping});
    rows = std::max(rows, c.rows);
  }
  if (how.empty()) return;
  if (device_ != Device::cpu) report_on_cpu("calibration", device_);
  NamedValues<Tensor> weights;
  for (const Parameter& p : weights_.state.parameters)
    weights.emplace(p.name, p.value.to_dense().to(Device::cpu));
  NamedValues<Tensor> pruned = calibrated_weights(*task_, weights, how, rows, weights_.state.step);
  weights.clear();
  for (Parameter& p : weights_.state.parameters) {
    const auto at = pruned.find(p.name);
    if (at == pruned.end()) continue;
    optim_detail::make_dense(p);
    p.value = at->second.to(device_);
    p.state.erase(average_key);  // of values that were replaced
  }
}

void Trainer::select_computing(std::size_t i) {
  WeightSparsity& s = weights_.sparsity[i];
  const SparsityStage* stage = s.stages->current(weights_.state.step);
  if (!stage) return;
  s.computing =
      registry().prune(weights_.state.parameters[i].value.as<Dense>(), stage->by, s.stages->layout);
  s.kept = s.computing->stored().count();
}

// The share of moved positions falls along a cosine, from the recipe's at the start to 0 at the end
// of the mask updates.
void Trainer::regrow(std::size_t i, const Tensor& gradient) {
  const WeightStages& s = *weights_.sparsity[i].stages;
  const double done = static_cast<double>(weights_.state.step - s.mask_begin) /
                      static_cast<double>(s.mask.end - s.mask_begin);
  const double share = s.mask.share * 0.5 * (1 + std::cos(std::numbers::pi * done));
  const Dense scores = gradient.to_dense();
  select_positions(weights_.state.parameters[i], Regrow{share}, s.layout, &scores);
  count(i);
}

// SR-STE: straight-through gradients, with a decay of the pruned values.
void Trainer::pull_to_zero(Gradients& gradients) const {
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const auto& computing = weights_.sparsity[i].computing;
    if (!weights_.sparsity[i].is_straight_through() || !computing || !gradients[i]) continue;
    const Mask kept = computing->stored();
    const auto w = weights_.state.parameters[i].value.values()->as<float>();
    const auto by = static_cast<float>(weights_.sparsity[i].stages->mask.decay);
    if (device_ != Device::cpu) {
      gradients[i] = Tensor::update(*std::move(gradients[i]), [&](Values& v) {
        float* g = v.mutate<float>().data();
        on_cuda([&](const auto& cuda, kernels::Stream stream) {
          cuda.steps.pull(g, w.data(), kept.bits.data(), by, std::ssize(w), stream);
        });
      });
      continue;
    }
    gradients[i] = Tensor::update(*std::move(gradients[i]), [&](Values& v) {
      const auto g = v.mutate<float>();
      parallel_for(std::ssize(w), mask_grain, [&](Index begin, Index end) {
        for (Index k = begin; k < end; ++k)
          if (!kept[k]) g[k] += by * w[k];
      });
    });
  }
}

void Trainer::average() {
  std::vector<Parameter*> averaged;
  for (std::size_t i = 0; i < weights_.state.parameters.size(); ++i)
    if (!weights_.sparsity[i].is_statistic) averaged.push_back(&weights_.state.parameters[i]);
  average_weights(averaged, task_->recipe().ema, weights_.state.step);
}

Tensor Trainer::measured(std::size_t i) const {
  if (weights_.sparsity[i].learned) return scores_.measured(i);
  const Parameter& p = weights_.state.parameters[i];
  Tensor value = p.value;
  if (const auto at = p.state.find(average_key); at != p.state.end())
    value = value.with_values(*at->second.values());
  if (!weights_.sparsity[i].is_straight_through()) return value;
  const WeightStages& s = *weights_.sparsity[i].stages;
  const SparsityStage* stage = s.current(weights_.state.step - 1);
  return stage ? registry().prune(value.as<Dense>(), stage->by, s.layout) : value;
}

// Counts the kept elements after a change of positions.
void Trainer::count(std::size_t i) {
  weights_.sparsity[i].kept = measured(i).stored().count();
  ++weights_.selections;
}

NamedValues<Tensor> Trainer::weights() const {
  NamedValues<Tensor> all;
  for (std::size_t i = 0; i < weights_.state.parameters.size(); ++i)
    all.emplace(weights_.state.parameters[i].name, measured(i));
  return all;
}

}  // namespace sten
