// SPDX-License-Identifier: Apache-2.0
// Gradients of the loss by the weights of a training run.
#pragma once
#include "libsten/training/trainer/deferred_metrics.h"
#include "libsten/training/trainer/distillation.h"
#include "libsten/training/trainer/rank_exchange.h"
#include "libsten/training/trainer/running_statistics.h"
#include "libsten/training/trainer/segmented_run.h"
#include "libsten/training/trainer/step_graph.h"

namespace sten {

class BatchGradients {
 public:
  // All must outlive this object.
  BatchGradients(StepGraph& graph, const TrainedWeights& weights, RankExchange& exchange)
      : graph_(graph), weights_(weights), exchange_(exchange) {}

  // Reads the teacher of the recipe, if it has one.
  void read_teacher();
  const std::optional<Teacher>& teacher() const { return teacher_; }

  struct Result {
    StepExchange::Gradients sum;  // over all parts on all ranks; empty without predictions
    double loss = 0;              // 0 if it is deferred
    GradientTraffic traffic{};
  };
  // `parts`: those of this rank, of a batch of `predictions` in all. all_have_parts: no rank is
  // without predictions. deferred: where losses go; nullptr: they are read and summed here. Error
  // with the step, on all ranks, if the loss is not finite.
  Result of(const std::vector<BatchPart>& parts, Index predictions, bool all_have_parts,
            StatisticsOfStep& statistics, DeferredMetrics* deferred);

 private:
  void of_part(const BatchPart& part, double share, StatisticsOfStep& statistics,
               const std::function<void(const Tensor&)>& on_loss,
               const SegmentedRun::Receiver& on_gradient);

  StepGraph& graph_;
  const TrainedWeights& weights_;
  RankExchange& exchange_;
  std::optional<Teacher> teacher_;
  std::optional<Tensor> seed_;  // gradient of the loss for this share of a batch
  double seed_share_ = 0;
};

}  // namespace sten
