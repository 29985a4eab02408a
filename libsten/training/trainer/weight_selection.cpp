// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/weight_selection.h"

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
#include "libsten/training/task/lora.h"
#include "libsten/training/trainer/calibration.h"

namespace sten {

void WeightSelection::begin() {
  calibrate();
  begin_global();
  for (std::size_t i = 0; i < weights_.sparsity.size(); ++i) {
    const WeightSparsity& s = weights_.sparsity[i];
    if (!s.stages) continue;
    if (s.learned) {
      if (scores_.begin(i)) count(i);
      continue;
    }
    const SparsityStage* stage = s.stages->beginning(weights_.state.step);
    if (s.is_straight_through() && !s.is_global())
      select_computing(i);
    else if (stage && !s.is_global())
      select(i, stage->by);
    // Gradients of the previous step are valid only at the start of this one.
    if (!s.accumulating) weights_.state.scores.erase(weights_.state.parameters[i].name);
  }
}

// The scores of a weight by which a sparsifier that needs them selects.
const Dense* WeightSelection::scores_of(std::size_t i, const Spec& by) const {
  const std::string& name = weights_.state.parameters[i].name;
  const auto at = weights_.state.scores.find(name);
  if (at == weights_.state.scores.end())
    fail_usage("{}: missing gradients for {}", quote(name), by.name());
  return &at->second.as<Dense>();
}

void WeightSelection::select(std::size_t i, const Spec& by) {
  Parameter& p = weights_.state.parameters[i];
  const Sparsifier s = registry().sparsifier(by);
  select_positions(p, s, weights_.sparsity[i].stages->layout,
                   s.needs_scores() ? scores_of(i, by) : nullptr);
  count(i);
}

// Replaces values by calibrated ones; select() then finds their positions.
void WeightSelection::calibrate() {
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
  if (weights_.device != Device::cpu) report_on_cpu("calibration", weights_.device);
  NamedValues<Tensor> weights;
  for (const Parameter& p : weights_.state.parameters)
    weights.emplace(p.name, p.value.to_dense().to(Device::cpu));
  NamedValues<Tensor> pruned =
      calibrated_weights(weights_.task, weights, how, rows, weights_.state.step);
  weights.clear();
  for (Parameter& p : weights_.state.parameters) {
    const auto at = pruned.find(p.name);
    if (at == pruned.end()) continue;
    optim_detail::make_dense(p);
    p.value = at->second.to(weights_.device);
    p.state.erase(average_key);  // of values that were replaced
  }
}

void WeightSelection::select_computing(std::size_t i) {
  WeightSparsity& s = weights_.sparsity[i];
  const SparsityStage* stage = s.stages->current(weights_.state.step);
  if (!stage) return;
  s.computing =
      registry().prune(weights_.state.parameters[i].value.as<Dense>(), stage->by, s.stages->layout);
  s.kept = s.computing->stored().count();
}

// The share of moved positions falls along a cosine, from the recipe's at the start to 0 at the end
// of the mask updates.
bool WeightSelection::regrow(std::size_t i, const Tensor& gradient) {
  if (!updates_mask(i)) return false;
  const WeightStages& s = *weights_.sparsity[i].stages;
  if (s.mask.kind != "regrow") return false;
  const double done = static_cast<double>(weights_.state.step - s.mask_begin) /
                      static_cast<double>(s.mask.end - s.mask_begin);
  const double share = s.mask.share * 0.5 * (1 + std::cos(std::numbers::pi * done));
  const Dense scores = gradient.to_dense();
  select_positions(weights_.state.parameters[i], Regrow{share}, s.layout, &scores);
  count(i);
  return true;
}

std::optional<Update> WeightSelection::reselection(std::size_t i) const {
  if (!updates_mask(i)) return std::nullopt;
  if (weights_.sparsity[i].is_global()) return Update::resparsify(KeepAll{});
  const Parameter& p = weights_.state.parameters[i];
  const Sparsifier by =
      registry().sparsifier(weights_.sparsity[i].stages->current(weights_.state.step)->by);
  std::optional<Dense> scores;
  if (by.adds_scores()) scores = weights_.state.scores.at(p.name).as<Dense>();
  return Update::resparsify(by, std::move(scores));
}

void WeightSelection::collect_scores(const StepExchange::Gradients& gradients) {
  for (std::size_t i = 0; i < weights_.sparsity.size(); ++i) {
    const WeightSparsity& s = weights_.sparsity[i];
    if (!s.stages || !gradients[i]) continue;
    const Parameter& p = weights_.state.parameters[i];
    const SparsityStage* next = s.stages->beginning(weights_.state.step + 1);
    if (!s.accumulating && !(s.ranks_by_gradient && next)) continue;
    if (weights_.device != Device::cpu) report_on_cpu("scores of gradients", weights_.device);
    const Dense w = p.value.to_dense().to(Device::cpu);
    const Dense g = gradients[i]->to_dense().to(Device::cpu);
    if (s.accumulating) {
      Dense scores = weights_.state.scores.extract(p.name).mapped().as<Dense>();
      s.accumulating->add_scores(scores, w, g);
      weights_.state.scores.emplace(p.name, std::move(scores));
    } else {
      // As at a refresh, by the weight before the step.
      weights_.state.scores.insert_or_assign(p.name,
                                             registry().sparsifier(next->by).scores_of(w, g));
    }
  }
}

void WeightSelection::pull_to_zero(StepExchange::Gradients& gradients) const {
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const auto& computing = weights_.sparsity[i].computing;
    if (!weights_.sparsity[i].is_straight_through() || !computing || !gradients[i]) continue;
    const Mask kept = computing->stored();
    const auto w = weights_.state.parameters[i].value.values()->as<float>();
    const auto by = static_cast<float>(weights_.sparsity[i].stages->mask.decay);
    if (weights_.device != Device::cpu) {
      gradients[i] = Tensor::update(*std::move(gradients[i]), [&](Values& v) {
        float* g = v.mutate<float>().data();
        launch(&kernels::StepFunctions::pull, g, w.data(), kept.bits.data(), by, std::ssize(w));
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

Tensor WeightSelection::measured_alone(std::size_t i) const {
  const WeightSparsity& s = weights_.sparsity[i];
  if (s.learned) return scores_.measured(i);
  const Parameter& p = weights_.state.parameters[i];
  Tensor value = p.value;
  if (const auto at = p.state.find(average_key); at != p.state.end())
    value = value.with_values(*at->second.values());
  const SparsityStage* stage = s.is_straight_through() && !s.is_global()
                                   ? s.stages->current(weights_.state.step - 1)
                                   : nullptr;
  return stage ? registry().prune(value.as<Dense>(), stage->by, s.stages->layout) : value;
}

NamedValues<Tensor> WeightSelection::measured() const {
  NamedValues<Tensor> all;
  for (std::size_t i = 0; i < weights_.state.parameters.size(); ++i)
    all.emplace(weights_.state.parameters[i].name, measured_alone(i));
  measure_global(all);
  merge_adapters(all);
  return all;
}

void WeightSelection::merge_adapters(NamedValues<Tensor>& all) const {
  for (const LoraWeight& w : lora_weights(weights_.task.graph())) {
    Tensor& value = all.find(w.weight)->second;
    value = merged(value, all.extract(w.a).mapped(), all.extract(w.b).mapped(),
                   *weights_.task.recipe().lora);
  }
}

void WeightSelection::count(std::size_t i) {
  weights_.sparsity[i].kept = measured_alone(i).stored().count();
  ++weights_.selections;
}

void WeightSelection::count() {
  const NamedValues<Tensor> all = measured();
  for (std::size_t i = 0; i < weights_.sparsity.size(); ++i)
    if (weights_.sparsity[i].stages)
      weights_.sparsity[i].kept =
          all.find(weights_.state.parameters[i].name)->second.stored().count();
  ++weights_.selections;
}

double WeightSelection::sparsity() const {
  Index kept = 0, all = 0;
  for (std::size_t i = 0; i < weights_.sparsity.size(); ++i) {
    if (!weights_.sparsity[i].stages) continue;
    kept += weights_.sparsity[i].kept;
    all += size_of(weights_.state.parameters[i].value.shape());
  }
  return all ? 1 - static_cast<double>(kept) / static_cast<double>(all) : 0;
}

bool WeightSelection::is_done() const {
  const auto is_decided = [&](const RecoveryState& r) {
    return r.reference && !r.before && r.layers.size() == weights_.stages_of(r).size();
  };
  if (!std::ranges::all_of(weights_.state.recoveries, is_decided)) return false;
  return std::ranges::all_of(weights_.stages, [&](const WeightStages& s) {
    if (s.stages.back().step == undecided_step) return true;  // left dense
    return s.scores ? s.scores->end <= weights_.state.step
                    : s.stages.back().step < weights_.state.step;
  });
}

}  // namespace sten
