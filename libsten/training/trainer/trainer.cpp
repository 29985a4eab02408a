#include "libsten/training/trainer/trainer.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "libsten/core/layout/masked.h"
#include "libsten/training/comm/comm_self.h"
#include "libsten/training/optim/gradients.h"
#include "libsten/training/recipe/rate.h"
#include "libsten/training/trainer/products.h"
#include "libsten/training/trainer/step_formats.h"
#include "libsten/training/trainer/trace.h"
#include "libsten/training/trainer/weight_averages.h"

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
      device_(options.device),
      factors_(device_products_of(task_->recipe(), device_)),
      graph_(*task_),
      weights_(*task_, device_),
      exchange_(ranks ? std::move(ranks) : comm_self(), weights_),
      scores_(weights_),
      selection_(weights_, scores_),
      optimizer_(task_->recipe().optimizer) {
  check_formats(task_->recipe(), task_->graph());
  trace_training(*task_);
  if (task_->recipe().distillation) teacher_.emplace(*task_, device_);
  if (device_ != Device::cpu && exchange_.ranks().size() == 1 && options.read_every > 1)
    deferred_.emplace(options.read_every, task_->parts());
  std::set<Index> begins;
  for (const WeightStages& p : weights_.stages)
    for (const SparsityStage& s : p.stages) begins.insert(s.step);
  begins_.assign(begins.begin(), begins.end());
  weights_.read_first();
}

NamedValues<Tensor> Trainer::weights() const {
  NamedValues<Tensor> all;
  for (std::size_t i = 0; i < weights_.state.parameters.size(); ++i)
    all.emplace(weights_.state.parameters[i].name, selection_.measured(i));
  return all;
}

bool Trainer::is_sparse_as_planned() const {
  return selection_.is_done() && has_last_formats(task_->recipe(), weights_.state.step);
}

// ------------------------------------------------------------------------------------ gradients

// Calls on_loss(loss) before the backward pass, and on_gradient(parameter, gradient) during it.
// After the call, only the state holds the weights' values, so that the optimizer can update in
// place.
void Trainer::gradients_of(const BatchPart& part, double share, StatisticsOfStep& statistics,
                           const std::function<void(const Tensor&)>& on_loss,
                           const Tape::Receiver& on_gradient) {
  Tape tape;
  NamedValues<Var> weights, inputs;
  std::vector<std::size_t> trained;  // indices on the tape
  for (std::size_t i = 0; i < weights_.state.parameters.size(); ++i) {
    const Parameter& p = weights_.state.parameters[i];
    if (weights_.sparsity[i].is_statistic) {
      weights.emplace(p.name, p.value);
      continue;
    }
    trained.push_back(i);
    OutFormat own;
    const auto& computing = weights_.sparsity[i].computing;
    weights.emplace(p.name, tape.parameter(computing ? *computing : p.value,
                                           graph_.gradient_format(
                                               i, p.value, weights_.needs_all_positions(i), own)));
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
  if (!parts.empty()) sum.resize(weights_.state.parameters.size());
  // During the last part's backward pass, or after it.
  const bool overlaps = all_have_parts && exchange_.overlaps();
  std::optional<StepExchange> exchange;
  const auto add = [&](std::size_t i) {
    exchange->add(i, weights_.state.parameters[i].value, weights_.needs_all_positions(i));
  };
  for (const BatchPart& part : parts) {
    const bool is_last = &part == &parts.back();
    const double share =
        static_cast<double>(part.predictions) / static_cast<double>(step.predictions);
    const auto on_loss = [&](const Tensor& loss) {
      if (deferred_) return deferred_->add_loss(loss, share);
      step.loss += share * number_of(loss);
      if (!is_last && std::isfinite(step.loss)) return;
      step.loss = exchange_.sum_loss(step.loss);
      if (is_last && overlaps) exchange.emplace(exchange_.start(sum));
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
  if (parts.empty() && !deferred_) step.loss = exchange_.sum_loss(step.loss);
  if (!exchange && step.predictions > 0) {
    if (!all_have_parts)
      exchange_.complete(sum, [&](std::size_t i) {
        return graph_.zero_gradient(i, weights_.state.parameters[i].value,
                                    weights_.needs_all_positions(i));
      });
    exchange.emplace(exchange_.start(sum));
    // In the order of a backward pass.
    for (std::size_t i = sum.size(); i-- > 0;)
      if (sum[i]) add(i);
  }
  if (exchange) step.traffic = exchange->finish();
  return sum;
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
  scores_.update(optimizer_, rate);
  if (task_->recipe().ema > 0) average();
}

void Trainer::average() {
  std::vector<Parameter*> averaged;
  for (std::size_t i = 0; i < weights_.state.parameters.size(); ++i)
    if (!weights_.sparsity[i].is_statistic) averaged.push_back(&weights_.state.parameters[i]);
  average_weights(averaged, task_->recipe().ema, weights_.state.step);
}

double Trainer::rate() const {
  const Recipe& r = task_->recipe();
  return r.optimizer.rate * rate_factor(r.rate, weights_.state.step, task_->steps(), begins_);
}

TrainStep Trainer::step() {
  if (is_done()) fail_usage("training: all {} steps are done", task_->steps());
  const Recipe& recipe = task_->recipe();
  if (deferred_ && deferred_->is_full()) last_read_ = deferred_->read();  // reports its error again
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
  Gradients sum =
      gradients_of_parts(parts, result, statistics, std::ranges::count(counts, 0u) == 0);
  if (ranks.size() > 1 && result.predictions > 0) statistics.exchange(ranks, task_->parts());
  graph_.format(sum, weights_.state.parameters);
  selection_.pull_to_zero(sum);
  if (!sum.empty()) scores_.take_gradients(sum);
  double scale = 1;
  Array<float> scale_on_device;
  if (recipe.clip > 0) scale = clip_norm(sum, result, scale_on_device);
  if (!sum.empty()) {
    selection_.collect_scores(sum);
    update(sum, result.rate, scale, scale_on_device);
    statistics.apply(weights_.state.parameters);
  }
  ++weights_.state.step;
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
      if (gradients[i]) all.push_back({&*gradients[i], &weights_.state.parameters[i].value});
    const DeviceNorm made =
        norm_on_device(all, clip, deferred_ ? deferred_->norm_destination() : nullptr);
    device_part = made.scale;
    if (deferred_) return 1;
    step.norm = made.norm.to(Device::cpu)[0];
    check_norm(weights_.state.step, step.norm);
    return 1;
  }
  double squares = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i)
    if (gradients[i]) squares += squared_norm(*gradients[i], weights_.state.parameters[i].value);
  step.norm = std::sqrt(squares);
  check_norm(weights_.state.step, step.norm);
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

void Trainer::restore(TrainState state) {
  weights_.restore(std::move(state));
  graph_.restart();
  for (std::size_t i = 0; i < weights_.sparsity.size(); ++i)
    if (weights_.sparsity[i].stages) selection_.count(i);
}

}  // namespace sten
