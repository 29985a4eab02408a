// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/batch_gradients.h"

#include <cmath>

#include "libsten/compute/product/device_gemm.h"
#include "libsten/training/optim/gradients.h"

namespace sten {
namespace {

double number_of(const Tensor& scalar) {
  const Dense x = scalar.as<Dense>().to(Device::cpu);
  return double{x.values.as<float>()[0]};
}

Tensor scalar_of(double v) {
  Dense x = Dense::zeros(DType::F32, {});
  x.values.mutate<float>()[0] = static_cast<float>(v);
  return x;
}

}  // namespace

void BatchGradients::read_teacher() {
  if (weights_.task.recipe().distillation) teacher_.emplace(weights_.task, weights_.device);
}

// Calls on_loss(loss) before the backward pass, and on_gradient(parameter, gradient) during it.
// After the call, only the state holds the weights' values, so that the optimizer can update in
// place.
void BatchGradients::of_part(const BatchPart& part, double share, StatisticsOfStep& statistics,
                             const std::function<void(const Tensor&)>& on_loss,
                             const SegmentedRun::Receiver& on_gradient) {
  NamedValues<StepWeight> weights;
  for (std::size_t i = 0; i < weights_.state.parameters.size(); ++i) {
    const Parameter& p = weights_.state.parameters[i];
    const auto& computing = weights_.sparsity[i].computing;
    StepWeight& w =
        weights.emplace(p.name, StepWeight{computing ? *computing : p.value, {}, i}).first->second;
    if (!weights_.sparsity[i].is_trained) continue;
    OutFormat own;
    w.gradient = graph_.gradient_format(i, p.value, weights_.needs_all_positions(i), own);
  }
  const BatchPart device_part = on_device(part, weights_.device);
  NamedValues<Tensor> inputs = device_part.inputs;
  if (teacher_) inputs.merge(teacher_->values(part, device_part));
  const RoundedProducts rounded(graph_.factors());  // of the model, not of its teacher
  const SegmentedGraph& segments = graph_.segments(inputs);
  SegmentedRun run(segments, std::move(weights), std::move(inputs));
  statistics.add(part.number, run.outputs());
  on_loss(run.outputs().at(graph_.loss()));
  if (!seed_ || seed_share_ != share) {
    seed_ = scalar_of(share).to(weights_.device);
    seed_share_ = share;
  }
  run.backward(graph_.loss(), *seed_, on_gradient);
}

BatchGradients::Result BatchGradients::of(const std::vector<BatchPart>& parts, Index predictions,
                                          bool all_have_parts, StatisticsOfStep& statistics,
                                          DeferredMetrics* deferred) {
  Result result;
  StepExchange::Gradients& sum = result.sum;
  if (!parts.empty()) sum.resize(weights_.state.parameters.size());
  // During the last part's backward pass, or after it.
  const bool overlaps = all_have_parts && exchange_.overlaps();
  std::optional<StepExchange> exchange;
  const auto add = [&](std::size_t i) {
    exchange->add(i, weights_.state.parameters[i].value, weights_.needs_all_positions(i));
  };
  for (const BatchPart& part : parts) {
    const bool is_last = &part == &parts.back();
    const double share = static_cast<double>(part.predictions) / static_cast<double>(predictions);
    const auto on_loss = [&](const Tensor& loss) {
      if (deferred) return deferred->add_loss(loss, share);
      result.loss += share * number_of(loss);
      if (!is_last && std::isfinite(result.loss)) return;
      result.loss = exchange_.sum_loss(result.loss);
      if (is_last && overlaps) exchange.emplace(exchange_.start(sum));
    };
    GradientSums sums;
    of_part(part, share, statistics, on_loss, [&](std::size_t i, Tensor gradient) {
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
  if (parts.empty() && !deferred) result.loss = exchange_.sum_loss(result.loss);
  if (!exchange && predictions > 0) {
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
  if (exchange) result.traffic = exchange->finish();
  return result;
}

}  // namespace sten
