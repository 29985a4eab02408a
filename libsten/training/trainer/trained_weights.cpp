// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/trained_weights.h"

#include <algorithm>
#include <unordered_map>

#include "libsten/core/base/hash.h"
#include "libsten/core/base/text.h"
#include "libsten/core/layout/masked.h"
#include "libsten/core/registry/registry.h"
#include "libsten/training/trainer/own_memory.h"

namespace sten {
namespace {

bool is_dense(const Tensor& t, DType dtype, const Shape& shape) {
  return t.is<Dense>() && t.dtype() == dtype && t.shape() == shape;
}

bool is_of_scores(const std::string& key) { return key.starts_with(score_state); }

Dense filled(const Shape& shape, double v) {
  Dense x = Dense::zeros(DType::F32, shape);
  std::ranges::fill(x.values.mutate<float>(), static_cast<float>(v));
  return x;
}

// Error unless the weight has all optimizer state, or, before its first gradient, none; likewise
// for scores.
void check_optimizer_state(const Parameter& p, const OptimizerRecipe& o, bool is_averaged,
                           bool has_scores) {
  if (p.state.empty()) return;
  const auto of_optimizer = o.state_keys();
  std::vector<std::string> wanted(of_optimizer.begin(), of_optimizer.end());
  if (is_averaged) wanted.emplace_back(average_key);
  if (has_scores &&
      std::ranges::any_of(p.state, [](const auto& s) { return is_of_scores(s.first); }))
    for (const std::string_view key : of_optimizer)
      wanted.push_back(std::string(score_state) + std::string(key));
  std::ranges::sort(wanted);
  const bool is_all =
      std::ranges::equal(p.state, wanted, {}, [](const auto& s) { return s.first; });
  if (!is_all) fail("state of {}: not the state of optimizer {}", quote(p.name), o.kind);
  for (const auto& [key, s] : p.state) {
    if (key == "step" || key == std::string(score_state) + "step") {
      if (!is_dense(s, DType::I64, {}) || s.as<Dense>().values.as<std::int64_t>()[0] < 1)
        fail("state of {}: \"step\" must be an I64 scalar >= 1", quote(p.name));
      continue;
    }
    const Shape shape =
        has_dense_values(p.value) ? p.value.shape() : Shape{p.value.values()->size()};
    if (!is_dense(s, DType::F32, shape))
      fail("state of {}: {} is {} {}, expected one F32 value per stored value", quote(p.name), key,
           name_of(s.dtype()), to_string(s.shape()));
  }
}

// Error if the state of pruning until recovery is of another recipe or step.
void check_recoveries(const TrainState& state, const TrainedWeights& of) {
  const Recipe& recipe = of.task.recipe();
  if (!std::ranges::equal(state.recoveries, of.state.recoveries, {}, &RecoveryState::entry,
                          &RecoveryState::entry))
    fail("state of pruning until recovery does not fit the entries of the recipe");
  for (const RecoveryState& r : state.recoveries) {
    const auto stages = of.stages_of(r);
    const std::size_t n = r.layers.size();
    const bool has_started = state.step > recipe.sparsity[r.entry].schedule.begin;
    if (r.reference.has_value() != has_started || (n > 0) != has_started || n > stages.size() ||
        (!r.before && has_started && n < stages.size()) ||
        !std::ranges::is_sorted(r.layers, {}, &TriedLayer::step) ||
        (has_started && r.layers.back().step > state.step))
      fail("state of /sparsity/{}: not the state of pruning until recovery at step {}", r.entry,
           state.step);
    if (!r.before) continue;
    const std::string& name = stages[n - 1].weight;
    if (r.before->name != name ||
        !is_dense(r.before->value, DType::F32, of.task.graph().find_weight(name)->shape))
      fail("state of /sparsity/{}: expected the values of {} before pruning", r.entry, quote(name));
    check_optimizer_state(*r.before, recipe.optimizer, recipe.ema > 0, false);
  }
}

// Error unless all residuals are of a weight whose gradients the recipe compresses. A weight that has
// just become sparse may still have one.
void check_residuals(const TrainState& state, const ExchangeRecipe& e) {
  for (const auto& [rank, residuals] : state.residuals)
    for (const auto& [name, x] : residuals) {
      const auto p = std::ranges::find(state.parameters, name, &Parameter::name);
      if (p == state.parameters.end() || !e.compresses() || !e.error_feedback ||
          !is_dense(x, DType::F32, p->value.shape()))
        fail("state of {}: unexpected residual", quote(name));
    }
}

}  // namespace

TrainedWeights::TrainedWeights(const Task& task, Device device)
    : task(task), device(device), stages(weight_stages(task.recipe(), task.model())) {
  state.is_measured = task.recipe().ema == 0 && !task.recipe().lora;
  for (const WeightStages& s : stages) state.is_measured &= !s.is_straight_through() && !s.scores;
  for (std::size_t e = 0; e < task.recipe().sparsity.size(); ++e)
    if (task.recipe().sparsity[e].schedule.prunes_until_recovered())
      state.recoveries.push_back({.entry = e});
}

std::span<const WeightStages> TrainedWeights::stages_of(const RecoveryState& r) const {
  const auto first = std::ranges::find(stages, r.entry, &WeightStages::entry);
  const auto n = std::ranges::count(stages, r.entry, &WeightStages::entry);
  return {first, static_cast<std::size_t>(n)};
}

std::size_t TrainedWeights::index_of(const WeightStages& of) const {
  const auto at = std::ranges::find(sparsity, &of, &WeightSparsity::stages);
  return static_cast<std::size_t>(at - sparsity.begin());
}

void TrainedWeights::set_recovery_stages() {
  for (const RecoveryState& r : state.recoveries) {
    auto next = r.layers.begin();
    for (WeightStages& s : stages) {
      if (s.entry != r.entry) continue;
      const bool is_sparse = next != r.layers.end() && !next->is_dense;
      s.stages.front().step = is_sparse ? next->step : undecided_step;
      if (next != r.layers.end()) ++next;
    }
  }
}

void TrainedWeights::read_first() {
  std::unordered_map<std::string_view, const WeightStages*> of_weight;
  for (const WeightStages& s : stages) of_weight.emplace(s.weight, &s);
  NamedValues<Tensor> first = task.first_weights();
  std::uint64_t hash = 0;
  for (const Weight& w : task.graph().weights()) {
    state.parameters.emplace_back(w.name, in_own_memory(first.at(w.name), device));
    hash = hash_bytes(hash, first.at(w.name).values()->bytes());
    first.erase(w.name);
    WeightSparsity& s = sparsity.emplace_back();
    s.is_trained = task.trains(w.name);
    const auto at = of_weight.find(w.name);
    if (at == of_weight.end()) continue;
    s.stages = at->second;
    s.kept = size_of(w.shape);
    if (s.stages->scores) {
      s.learned = &learned_scores(s.stages->stages.back().by);
      state.scores.emplace(w.name, filled(w.shape, s.stages->scores->initial));
      continue;
    }
    for (const SparsityStage& stage : s.stages->stages) {
      const Sparsifier by = registry().sparsifier(stage.by);
      if (by.adds_scores()) s.accumulating = by;
      s.ranks_by_gradient |= by.needs_scores() && !by.adds_scores();
    }
    if (s.accumulating) state.scores.emplace(w.name, Dense::zeros(DType::F32, w.shape));
  }
  for (const WeightStages& s : stages) {
    if (!s.is_global) continue;
    if (&s == stages.data() || (&s)[-1].entry != s.entry) global.emplace_back();
    global.back().push_back(index_of(s));
  }
  first_content = fmt::format("{:016x}", hash);
}

// Step counts and score state are always on the CPU.
void TrainedWeights::restore(TrainState restored) {
  check_recoveries(restored, *this);
  std::swap(state.recoveries, restored.recoveries);
  set_recovery_stages();
  check_state(restored, *this);
  std::swap(state.recoveries, restored.recoveries);
  restored.is_measured = state.is_measured;
  state = std::move(restored);
  ++selections;
  const auto copy = [&](Parameter& p) {
    p.value = in_own_memory(p.value, device);
    for (auto& [key, s] : p.state) {
      const bool stays = s.dtype() == DType::I64 || is_of_scores(key);
      s = in_own_memory(s, stays ? Device::cpu : device);
    }
  };
  for (Parameter& p : state.parameters) copy(p);
  for (RecoveryState& r : state.recoveries)
    if (r.before) copy(*r.before);
  for (auto& [name, s] : state.scores) s = in_own_memory(s, Device::cpu);
  for (auto& [rank, residuals] : state.residuals)
    for (auto& [name, x] : residuals) x = in_own_memory(x, Device::cpu);
}

void check_state(const TrainState& state, const TrainedWeights& of) {
  const Task& task = of.task;
  const std::vector<Weight>& weights = task.graph().weights();
  if (state.step < 0 || state.step > task.steps())
    fail("state of step {} does not fit a run of {} steps", state.step, task.steps());
  if (state.parameters.size() != weights.size())
    fail("state of {} weights does not fit a model of {} weights", state.parameters.size(),
         weights.size());
  std::size_t scores = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Parameter& p = state.parameters[i];
    if (p.name != weights[i].name || p.value.shape() != weights[i].shape)
      fail("state of {} {} does not fit weight {} {} of the model", quote(p.name),
           to_string(p.value.shape()), quote(weights[i].name), to_string(weights[i].shape));
    if (!p.value.values() || p.value.values()->dtype() != DType::F32)
      fail("state of {}: {} weights cannot be trained", quote(p.name), p.value.spec().str());
    const WeightSparsity& s = of.sparsity[i];
    // Scores end at the start of their last step.
    const bool has_scores = s.learns_scores(state.step - 1);
    check_optimizer_state(p, task.recipe().optimizer, task.recipe().ema > 0, has_scores);
    if (!p.state.empty() && !task.trains(p.name))
      fail("state of {}: a {} has no optimizer state", quote(p.name),
           task.model().is_statistic(p.name) ? "running statistic" : "frozen weight");
    if (s.is_straight_through() && !p.value.is<Dense>())
      fail("state of {}: a straight-through mask needs a dense weight, got {}", quote(p.name),
           p.value.spec().str());
    if (has_scores && !p.value.is<Dense>())
      fail("state of {}: scores need a dense weight, got {}", quote(p.name), p.value.spec().str());
    if (s.stages && !s.is_straight_through() && !has_scores && s.stages->current(state.step - 1) &&
        p.value.layout_name() != Name(s.stages->layout.name()))
      fail("state of {}: got {} after step {}, expected {}", quote(p.name), p.value.spec().str(),
           state.step, s.stages->layout.str());
    const auto at = state.scores.find(p.name);
    if (at == state.scores.end()) {
      if (s.accumulating || has_scores) fail("state of {}: missing scores", quote(p.name));
      continue;
    }
    ++scores;
    if (!(s.accumulating || s.ranks_by_gradient || has_scores) ||
        !is_dense(at->second, DType::F32, weights[i].shape))
      fail("state of {}: unexpected scores", quote(p.name));
  }
  if (scores != state.scores.size()) fail("state has scores of unknown weights");
  check_residuals(state, task.recipe().exchange);
}

}  // namespace sten
