// Checks of a restored training state.
#include <algorithm>

#include "libsten/core/base/text.h"
#include "libsten/core/layout/masked.h"
#include "libsten/training/trainer/trainer.h"

namespace sten {
namespace {

// The keys of the optimizer state of a weight, sorted.
std::vector<std::string_view> remembered(const OptimizerRecipe& o) {
  if (o.kind == "adamw") return {"m", "step", "v"};
  return o.momentum > 0 ? std::vector<std::string_view>{"momentum"}
                        : std::vector<std::string_view>{};
}

bool is_dense(const Tensor& t, DType dtype, const Shape& shape) {
  return t.is<Dense>() && t.dtype() == dtype && t.shape() == shape;
}

bool is_of_scores(const std::string& key) { return key.starts_with(score_state); }

// Error unless the weight has all optimizer state, or, before its first gradient, none; likewise
// for scores.
void check_remembered(const Parameter& p, const OptimizerRecipe& o, bool is_averaged,
                      bool has_scores) {
  if (p.state.empty()) return;
  const auto of_optimizer = remembered(o);
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

}  // namespace

void Trainer::check_state(const TrainState& state) const {
  const std::vector<Weight>& weights = task_->graph().weights();
  if (state.step < 0 || state.step > task_->steps())
    fail("state of step {} does not fit a run of {} steps", state.step, task_->steps());
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
    const Sparse& s = sparse_[i];
    // Scores end at the start of their last step.
    const bool has_scores = s.learned && s.stages->has_scores(state.step - 1);
    check_remembered(p, task_->recipe().optimizer, task_->recipe().ema > 0, has_scores);
    if (!p.state.empty() && task_->graph().is_statistic(p.name))
      fail("state of {}: a running statistic has no optimizer state", quote(p.name));
    if (s.stages && is_straight_through(i) && !p.value.is<Dense>())
      fail("state of {}: a straight-through mask needs a dense weight, got {}", quote(p.name),
           p.value.spec().str());
    if (has_scores && !p.value.is<Dense>())
      fail("state of {}: scores need a dense weight, got {}", quote(p.name), p.value.spec().str());
    if (s.stages && !is_straight_through(i) && !has_scores && s.stages->current(state.step - 1) &&
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
}

}  // namespace sten
