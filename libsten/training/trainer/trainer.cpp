// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/trainer.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "libsten/core/layout/masked.h"
#include "libsten/training/comm/comm_self.h"
#include "libsten/training/optim/gradients.h"
#include "libsten/training/recipe/rate.h"
#include "libsten/training/task/step_formats.h"
#include "libsten/training/trainer/products.h"
#include "libsten/training/trainer/state_exchange.h"
#include "libsten/training/trainer/trace.h"
#include "libsten/training/trainer/weight_averages.h"

namespace sten {
Trainer::Trainer(std::shared_ptr<const Task> task, std::shared_ptr<Communicator> ranks,
                 const TrainerOptions& options)
    : task_(std::move(task)),
      graph_(*task_, options.device),
      weights_(*task_, options.device),
      exchange_(ranks ? std::move(ranks) : comm_self(), weights_),
      gradients_(graph_, weights_, exchange_),
      scores_(weights_),
      selection_(weights_, scores_),
      recovery_(weights_, selection_, exchange_),
      optimizer_(task_->recipe().optimizer) {
  check_formats(task_->recipe(), task_->graph());
  check_compression(weights_);
  trace_training(*task_);
  gradients_.read_teacher();
  if (options.device != Device::cpu && exchange_.ranks().size() == 1 && options.read_every > 1)
    deferred_.emplace(options.read_every, task_->parts());
  std::set<Index> begins;
  for (const WeightStages& p : weights_.stages)
    for (const SparsityStage& s : p.stages)
      if (s.step != undecided_step) begins.insert(s.step);
  begins_.assign(begins.begin(), begins.end());
  weights_.read_first();
}

bool Trainer::is_sparse_as_planned() const {
  return selection_.is_done() && has_last_formats(task_->recipe(), weights_.state.step);
}

void Trainer::update(const Gradients& gradients, double rate, const GradientScale& scale) {
  optimizer_.set_rate(rate);
  const auto scaled = [&](Update u) {
    u.scale_gradient(scale.factor);
    if (scale.on_device.size()) u.scale_gradient(scale.on_device);
    return u;
  };
  const Update plain = scaled({});
  std::vector<ParameterStep> together;  // whose positions stay
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i]) continue;
    if (selection_.regrow(i, *gradients[i])) continue;
    Parameter& p = weights_.state.parameters[i];
    if (std::optional<Update> reselect = selection_.reselection(i)) {
      // The sparsifier needs all values; a format may have made the gradient sparse.
      const Tensor g =
          has_dense_values(*gradients[i]) ? *gradients[i] : Tensor(gradients[i]->to_dense());
      optimizer_.step(p, g, scaled(*std::move(reselect)));
      selection_.count(i);
    } else {
      together.push_back({&p, &*gradients[i], &plain});
    }
  }
  optimizer_.step(together);
  selection_.reselect_global();
  scores_.update(optimizer_, rate);
  if (task_->recipe().ema > 0) average();
}

void Trainer::average() {
  std::vector<Parameter*> averaged;
  for (std::size_t i = 0; i < weights_.state.parameters.size(); ++i)
    if (weights_.sparsity[i].is_trained) averaged.push_back(&weights_.state.parameters[i]);
  average_weights(averaged, task_->recipe().ema, weights_.state.step);
}

double Trainer::rate() const {
  const Recipe& r = task_->recipe();
  return r.optimizer.rate * rate_factor(r.rate, weights_.state.step, task_->steps(), begins_);
}

TrainStep Trainer::step() {
  if (is_done()) fail_usage("training: all {} steps are done", task_->steps());
  if (deferred_ && deferred_->is_full()) deferred_->read();  // reports its error again
  recovery_.begin();
  graph_.begin(weights_.state.step);
  selection_.begin();
  TrainStep result;
  result.step = weights_.state.step;
  result.rate = rate();
  Communicator& ranks = exchange_.ranks();
  const std::vector<BatchPart> parts =
      task_->batch(weights_.state.step, task_->parts_of(ranks.rank()));
  std::uint64_t mine = 0;
  for (const BatchPart& part : parts) mine += static_cast<std::uint64_t>(part.predictions);
  // The mean is over the predictions of the whole batch.
  const std::vector<std::uint64_t> counts = ranks.gather(mine);
  for (const std::uint64_t n : counts) result.predictions += static_cast<Index>(n);
  if (deferred_) deferred_->begin(weights_.state.step);
  StatisticsOfStep statistics(task_->graph());
  BatchGradients::Result batch =
      gradients_.of(parts, result.predictions, std::ranges::count(counts, 0u) == 0, statistics,
                    deferred_ ? &*deferred_ : nullptr);
  result.loss = batch.loss;
  result.traffic = batch.traffic;
  Gradients& sum = batch.sum;
  if (ranks.size() > 1 && result.predictions > 0) statistics.exchange(ranks, task_->parts());
  graph_.format(sum, weights_.state.parameters);
  selection_.pull_to_zero(sum);
  if (!sum.empty()) scores_.take_gradients(sum);
  if (!sum.empty()) {
    GradientScale scale;
    if (task_->recipe().clip > 0) scale = clip(sum, result);
    selection_.collect_scores(sum);
    update(sum, result.rate, scale);
    statistics.apply(weights_.state.parameters);
  }
  ++weights_.state.step;
  recovery_.end();
  if (!deferred_) return result;
  result.is_read = false;
  result.loss = deferred_->last().loss;
  result.norm = deferred_->last().norm;
  if (deferred_->is_full() || is_done()) read(result);
  return result;
}

// Sets the norm of the step, unless it is deferred.
Trainer::GradientScale Trainer::clip(const Gradients& gradients, TrainStep& step) {
  const double most = task_->recipe().clip;
  // The positions of a gradient that the step uses.
  const auto positions = [&](std::size_t i) -> const Tensor& {
    return selection_.updates_all(i) ? *gradients[i] : weights_.state.parameters[i].value;
  };
  if (weights_.device != Device::cpu) {
    std::vector<GradientOf> all;
    for (std::size_t i = 0; i < gradients.size(); ++i)
      if (gradients[i]) all.push_back({&*gradients[i], &positions(i)});
    const DeviceNorm made =
        norm_on_device(all, most, deferred_ ? deferred_->norm_destination() : nullptr);
    if (deferred_) return {1, made.scale};
    step.norm = made.norm.to(Device::cpu)[0];
    check_norm(weights_.state.step, step.norm);
    return {1, made.scale};
  }
  double squares = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i)
    if (gradients[i]) squares += squared_norm(*gradients[i], positions(i));
  step.norm = std::sqrt(squares);
  check_norm(weights_.state.step, step.norm);
  // As torch.nn.utils.clip_grad_norm_.
  return {std::min(1.0, most / (step.norm + 1e-6)), {}};
}

void Trainer::read(TrainStep& last) {
  if (deferred_ && !deferred_->is_empty()) deferred_->read();
  if (!deferred_ || last.is_read) return;
  last.loss = deferred_->last().loss;
  last.norm = deferred_->last().norm;
  last.is_read = true;
}

void Trainer::restore(TrainState state) {
  take_residuals(exchange_.ranks(), state);
  weights_.restore(std::move(state));
  graph_.restart();
  selection_.count();
}

}  // namespace sten
