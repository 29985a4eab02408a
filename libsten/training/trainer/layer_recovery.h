// SPDX-License-Identifier: Apache-2.0
// Layer-wise pruning until recovery in training: prunes the next layer when the validation loss has
// recovered, and undoes the pruning of a layer that does not recover.
#pragma once
#include "libsten/training/trainer/rank_exchange.h"
#include "libsten/training/trainer/weight_selection.h"

namespace sten {

// For the entries of the recipe with `until`. Rank 0 measures the losses, and all ranks decide by
// them.
class LayerRecovery {
 public:
  // All must outlive this object.
  LayerRecovery(TrainedWeights& weights, WeightSelection& selection, const RankExchange& exchange)
      : weights_(weights), selection_(selection), exchange_(exchange) {}

  // Before the first step of an entry: measures the loss to recover to, and starts the first layer.
  // Error on all ranks if the loss is not finite, or the validation split is empty.
  void begin();
  // After a step that ends a round: counts the round. If it is the last of its layer, starts the
  // next layer; a layer that did not recover is dense again, with the values and the optimizer
  // state from before it was pruned.
  void end();

 private:
  double validation_loss() const;
  void start_next(RecoveryState& r);
  void leave_dense(RecoveryState& r);

  TrainedWeights& weights_;
  WeightSelection& selection_;
  const RankExchange& exchange_;
};

}  // namespace sten
