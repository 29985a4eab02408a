#include "libsten/training/trainer/trainer.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "libsten/core/base/fallback.h"
#include "libsten/core/base/hash.h"
#include "libsten/core/base/hints.h"
#include "libsten/core/base/text.h"
#include "libsten/core/layout/masked.h"
#include "libsten/core/registry/registry.h"
#include "libsten/training/comm/comm_self.h"
#include "libsten/training/optim/gradients.h"
#include "libsten/training/optim/select.h"
#include "libsten/training/recipe/rate.h"
#include "libsten/training/trainer/own_memory.h"
#include "libsten/training/trainer/products.h"
#include "libsten/training/trainer/step_formats.h"
#include "libsten/training/trainer/trace.h"

namespace sten {
namespace {

double number_of(const Tensor& scalar) {
  const Dense x = scalar.as<Dense>().to(Device::cpu);
  return double{x.values.as<float>()[0]};
}

Dense filled(const Shape& shape, double v) {
  Dense x = Dense::zeros(DType::F32, shape);
  std::ranges::fill(x.values.mutate<float>(), static_cast<float>(v));
  return x;
}

}  // namespace

Trainer::Trainer(std::shared_ptr<const Task> task, std::shared_ptr<Communicator> ranks,
                 const TrainerOptions& options)
    : task_(std::move(task)),
      ranks_(ranks ? std::move(ranks) : comm_self()),
      device_(options.device),
      factors_(device_products_of(task_->recipe(), device_)),
      graph_(*task_),
      stages_(weight_stages(task_->recipe(), task_->graph())),
      optimizer_(task_->recipe().optimizer) {
  check_formats(task_->recipe(), task_->graph());
  trace_training(*task_);
  if (task_->recipe().distillation) teacher_.emplace(*task_, device_);
  if (device_ != Device::cpu && ranks_->size() == 1 && options.read_every > 1)
    deferred_.emplace(options.read_every, task_->parts());
  std::unordered_map<std::string_view, const WeightStages*> of_weight;
  std::set<Index> begins;
  for (const WeightStages& p : stages_) {
    of_weight.emplace(p.weight, &p);
    for (const SparsityStage& s : p.stages) begins.insert(s.step);
    state_.is_measured &= !p.is_straight_through() && !p.scores;
  }
  begins_.assign(begins.begin(), begins.end());
  state_.is_measured &= task_->recipe().ema == 0;
  NamedValues<Tensor> first = task_->first_weights();
  std::uint64_t hash = 0;
  for (const Weight& w : task_->graph().weights()) {
    state_.parameters.emplace_back(w.name, in_own_memory(first.at(w.name), device_));
    hash = hash_bytes(hash, first.at(w.name).values()->bytes());
    first.erase(w.name);
    Sparse& s = sparse_.emplace_back();
    s.is_statistic = task_->graph().is_statistic(w.name);
    const auto at = of_weight.find(w.name);
    if (at == of_weight.end()) continue;
    s.stages = at->second;
    s.kept = size_of(w.shape);
    if (s.stages->scores) {
      s.learned = &learned_scores(s.stages->stages.back().by);
      state_.scores.emplace(w.name, filled(w.shape, s.stages->scores->initial));
      continue;
    }
    for (const SparsityStage& stage : s.stages->stages) {
      const Sparsifier by = registry().sparsifier(stage.by);
      if (by.adds_scores()) s.accumulating = by;
      s.ranks_by_gradient |= by.needs_scores() && !by.adds_scores();
    }
    if (s.accumulating) state_.scores.emplace(w.name, Dense::zeros(DType::F32, w.shape));
  }
  first_weights_ = fmt::format("{:016x}", hash);
}

// ------------------------------------------------------------------------------------- sparsity

void Trainer::begin_stages() {
  calibrate();
  for (std::size_t i = 0; i < sparse_.size(); ++i) {
    if (!sparse_[i].stages) continue;
    if (sparse_[i].learned) {
      begin_scores(i);
      continue;
    }
    if (is_straight_through(i))
      select_computing(i);
    else if (const SparsityStage* stage = sparse_[i].stages->beginning(state_.step))
      select(i, stage->by);
    // Gradients of the previous step are valid only at the start of this one.
    if (!sparse_[i].accumulating) state_.scores.erase(state_.parameters[i].name);
  }
}

double Trainer::sparsity() const {
  Index kept = 0, all = 0;
  for (std::size_t i = 0; i < sparse_.size(); ++i) {
    if (!sparse_[i].stages) continue;
    kept += sparse_[i].kept;
    all += size_of(state_.parameters[i].value.shape());
  }
  return all ? 1 - static_cast<double>(kept) / static_cast<double>(all) : 0;
}

bool Trainer::is_sparse_as_planned() const {
  const bool is_sparse = std::ranges::all_of(stages_, [&](const WeightStages& p) {
    return p.scores ? p.scores->end <= state_.step : p.stages.back().step < state_.step;
  });
  return is_sparse && has_last_formats(task_->recipe(), state_.step);
}

// ------------------------------------------------------------------------------------ gradients

// Whether this step uses the gradient at pruned positions.
bool Trainer::needs_all_positions(std::size_t i) const {
  const Sparse& s = sparse_[i];
  return s.computing || s.accumulating || (s.stages && s.stages->refreshes(state_.step)) ||
         (s.ranks_by_gradient && s.stages->beginning(state_.step + 1));
}

// Calls on_loss(loss) before the backward pass, and on_gradient(parameter, gradient) during it.
// After the call, only the state holds the weights' values, so that the optimizer can update in
// place.
void Trainer::gradients_of(const BatchPart& part, double share, StatisticsOfStep& statistics,
                           const std::function<void(const Tensor&)>& on_loss,
                           const Tape::Receiver& on_gradient) {
  Tape tape;
  NamedValues<Var> weights, inputs;
  std::vector<std::size_t> trained;  // indices on the tape
  for (std::size_t i = 0; i < state_.parameters.size(); ++i) {
    const Parameter& p = state_.parameters[i];
    if (sparse_[i].is_statistic) {
      weights.emplace(p.name, p.value);
      continue;
    }
    trained.push_back(i);
    OutFormat own;
    const auto& computing = sparse_[i].computing;
    weights.emplace(
        p.name, tape.parameter(computing ? *computing : p.value,
                               graph_.gradient_format(i, p.value, needs_all_positions(i), own)));
  }
  const BatchPart device_part = on_device(part, device_);
  for (const auto& [name, x] : device_part.inputs) inputs.emplace(name, x);
  if (teacher_)
    for (auto& [name, x] : teacher_->values(device_part)) inputs.emplace(name, std::move(x));
  const RoundedProducts rounded(factors_);  // of the model, not of its teacher
  const NamedValues<Var> outputs = graph_->run<Var>(weights, inputs);
  statistics.add(part.number, outputs);
  const Var y = outputs.at(graph_.loss());
  on_loss(y.value());
  if (!seed_ || seed_share_ != share) {
    seed_ = Tensor(filled({}, share)).to(device_);
    seed_share_ = share;
  }
  tape.backward(y, *seed_, [&](std::size_t k, Tensor gradient) {
    on_gradient(trained[k], std::move(gradient));
  });
}

// The sum of gradients over all parts of the batch on all ranks; empty without predictions. Sets
// the loss of the step.
Trainer::Gradients Trainer::gradients_of_parts(const std::vector<BatchPart>& parts, TrainStep& step,
                                               StatisticsOfStep& statistics, bool all_have_parts) {
  Gradients sum;
  if (!parts.empty()) sum.resize(state_.parameters.size());
  // During the last part's backward pass, or after it. On one machine, the processors that compute
  // also copy messages, so overlap gains nothing.
  const std::string& when = task_->recipe().exchange.overlap;
  const bool overlaps =
      all_have_parts && (when == "always" || (when == "auto" && !ranks_->is_one_machine()));
  std::optional<StepExchange> exchange;
  const auto add = [&](std::size_t i) {
    exchange->add(i, state_.parameters[i].value, needs_all_positions(i));
  };
  for (const BatchPart& part : parts) {
    const bool is_last = &part == &parts.back();
    const double share =
        static_cast<double>(part.predictions) / static_cast<double>(step.predictions);
    const auto on_loss = [&](const Tensor& loss) {
      if (deferred_) return deferred_->add_loss(loss, share);
      step.loss += share * number_of(loss);
      if (!is_last && std::isfinite(step.loss)) return;
      agree_on_loss(step);
      if (is_last && overlaps) exchange.emplace(exchange_of(sum));
    };
    GradientSums sums;
    gradients_of(part, share, statistics, on_loss, [&](std::size_t i, Tensor gradient) {
      if (sum[i])
        sums.add(*sum[i], std::move(gradient));
      else
        sum[i] = std::move(gradient);
      if (!exchange) return;
      sums.finish();
      add(i);
    });
    sums.finish();
  }
  if (parts.empty() && !deferred_) agree_on_loss(step);
  if (!exchange && step.predictions > 0) {
    if (!all_have_parts) complete(sum);
    exchange.emplace(exchange_of(sum));
    // In the order of a backward pass.
    for (std::size_t i = sum.size(); i-- > 0;)
      if (sum[i]) add(i);
  }
  if (exchange) step.traffic = exchange->finish();
  return sum;
}

void Trainer::collect_scores(const Gradients& gradients) {
  for (std::size_t i = 0; i < sparse_.size(); ++i) {
    const Sparse& s = sparse_[i];
    if (!s.stages || !gradients[i]) continue;
    const Parameter& p = state_.parameters[i];
    const SparsityStage* next = s.stages->beginning(state_.step + 1);
    if (!s.accumulating && !(s.ranks_by_gradient && next)) continue;
    if (device_ != Device::cpu) report_on_cpu("scores of gradients", device_);
    const Dense w = p.value.to_dense().to(Device::cpu);
    const Dense g = gradients[i]->to_dense().to(Device::cpu);
    if (s.accumulating) {
      Dense scores = state_.scores.extract(p.name).mapped().as<Dense>();
      s.accumulating->add_scores(scores, w, g);
      state_.scores.emplace(p.name, std::move(scores));
    } else {
      // As at a refresh, by the weight before the step.
      state_.scores.insert_or_assign(p.name, registry().sparsifier(next->by).scores_of(w, g));
    }
  }
}

// ----------------------------------------------------------------------------------------- steps

void Trainer::update(const Gradients& gradients, double rate, double scale,
                     const Array<float>& scale_on_device) {
  optimizer_.set_rate(rate);
  const auto scaled = [&](Update u) {
    u.scale_gradient(scale);
    if (scale_on_device.size()) u.scale_gradient(scale_on_device);
    return u;
  };
  const Update plain = scaled({});
  std::vector<ParameterStep> together;  // whose positions stay
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i]) continue;
    Parameter& p = state_.parameters[i];
    const WeightStages* stages = sparse_[i].stages;
    const bool is_anew = stages && stages->refreshes(state_.step);
    if (is_anew && stages->mask.kind == "regrow") {
      regrow(i, *gradients[i]);
      continue;
    }
    if (is_anew) {
      const Sparsifier by = registry().sparsifier(stages->current(state_.step)->by);
      std::optional<Dense> scores;
      if (by.adds_scores()) scores = state_.scores.at(p.name).as<Dense>();
      const Update reselect = scaled(Update::resparsify(by, std::move(scores)));
      // The sparsifier needs all values; a format may have made the gradient sparse.
      const Tensor g =
          has_dense_values(*gradients[i]) ? *gradients[i] : Tensor(gradients[i]->to_dense());
      optimizer_.step(p, g, reselect);
      count(i);
    } else {
      together.push_back({&p, &*gradients[i], &plain});
    }
  }
  optimizer_.step(together);
  for (std::size_t i = 0; i < gradients.size(); ++i)
    if (gradients[i] && sparse_[i].score_gradient) update_scores(i);
  if (task_->recipe().ema > 0) average();
}

double Trainer::rate() const {
  const Recipe& r = task_->recipe();
  return r.optimizer.rate * rate_factor(r.rate, state_.step, task_->steps(), begins_);
}

TrainStep Trainer::step() {
  if (is_done()) fail_usage("training: all {} steps are done", task_->steps());
  const Recipe& recipe = task_->recipe();
  if (deferred_ && deferred_->is_full()) last_read_ = deferred_->read();  // reports its error again
  graph_.begin(state_.step);
  begin_stages();
  TrainStep result;
  result.step = state_.step;
  result.rate = rate();
  const std::vector<BatchPart> parts = task_->batch(state_.step, task_->parts_of(ranks_->rank()));
  std::uint64_t mine = 0;
  for (const BatchPart& part : parts) mine += static_cast<std::uint64_t>(part.predictions);
  // The mean is over the predictions of the whole batch.
  const std::vector<std::uint64_t> counts = ranks_->gather(mine);
  for (const std::uint64_t n : counts) result.predictions += static_cast<Index>(n);
  if (deferred_) deferred_->begin(state_.step);
  StatisticsOfStep statistics(task_->graph());
  Gradients sum =
      gradients_of_parts(parts, result, statistics, std::ranges::count(counts, 0u) == 0);
  if (ranks_->size() > 1 && result.predictions > 0) statistics.exchange(*ranks_, task_->parts());
  graph_.format(sum, state_.parameters);
  pull_to_zero(sum);
  if (!sum.empty()) take_score_gradients(sum);
  double scale = 1;
  Array<float> scale_on_device;
  if (recipe.clip > 0) scale = clip_norm(sum, result, scale_on_device);
  if (!sum.empty()) {
    collect_scores(sum);
    update(sum, result.rate, scale, scale_on_device);
    statistics.apply(state_.parameters);
  }
  ++state_.step;
  if (!deferred_) return result;
  result.is_read = false;
  result.loss = last_read_.loss;
  result.norm = last_read_.norm;
  if (deferred_->is_full() || is_done()) read(result);
  return result;
}

// The factor of gradients for clipping. `device_part`: the factor of gradients on a device.
double Trainer::clip_norm(const Gradients& gradients, TrainStep& step, Array<float>& device_part) {
  const double clip = task_->recipe().clip;
  if (device_ != Device::cpu) {
    std::vector<GradientOf> all;
    for (std::size_t i = 0; i < gradients.size(); ++i)
      if (gradients[i]) all.push_back({&*gradients[i], &state_.parameters[i].value});
    const DeviceNorm made =
        norm_on_device(all, clip, deferred_ ? deferred_->norm_destination() : nullptr);
    device_part = made.scale;
    if (deferred_) return 1;
    step.norm = made.norm.to(Device::cpu)[0];
    check_norm(state_.step, step.norm);
    return 1;
  }
  double squares = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i)
    if (gradients[i]) squares += squared_norm(*gradients[i], state_.parameters[i].value);
  step.norm = std::sqrt(squares);
  check_norm(state_.step, step.norm);
  // As torch.nn.utils.clip_grad_norm_.
  return std::min(1.0, clip / (step.norm + 1e-6));
}

void Trainer::read(TrainStep& last) {
  if (deferred_ && !deferred_->is_empty()) last_read_ = deferred_->read();
  if (!deferred_ || last.is_read) return;
  last.loss = last_read_.loss;
  last.norm = last_read_.norm;
  last.is_read = true;
}

// Moves all but the state that is always on the CPU: step counts and score state.
void Trainer::move(Parameter& p) const {
  p.value = in_own_memory(p.value, device_);
  for (auto& [key, s] : p.state) {
    const bool stays = s.dtype() == DType::I64 || key.starts_with(score_state);
    s = in_own_memory(s, stays ? Device::cpu : device_);
  }
}

void Trainer::restore(TrainState state) {
  check_state(state);
  state.is_measured = state_.is_measured;
  state_ = std::move(state);
  has_new_positions_ = true;
  graph_.restart();
  for (Parameter& p : state_.parameters) move(p);
  for (auto& [name, s] : state_.scores) s = in_own_memory(s, Device::cpu);
  for (std::size_t i = 0; i < sparse_.size(); ++i)
    if (sparse_[i].stages) count(i);
}

}  // namespace sten
