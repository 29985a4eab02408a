// SPDX-License-Identifier: Apache-2.0
// Exchange between the ranks of a training run.
#pragma once
#include <functional>
#include <memory>

#include "libsten/training/trainer/step_exchange.h"
#include "libsten/training/trainer/trained_weights.h"

namespace sten {

class RankExchange {
 public:
  // `weights` must outlive this object.
  RankExchange(std::shared_ptr<Communicator> ranks, TrainedWeights& weights)
      : ranks_(std::move(ranks)), weights_(weights) {}

  Communicator& ranks() const { return *ranks_; }
  // Whether gradients are exchanged during the backward pass.
  bool overlaps() const;
  // Starts the exchange of this step's gradients, by the transport of the recipe. Error on all
  // ranks unless the positions of weights are equal on all.
  StepExchange start(StepExchange::Gradients& gradients);
  // The sum over the ranks of their shares of the loss. Error on all ranks if it is not finite.
  double sum_loss(double share) const;
  // Adds zeros for weights that have a gradient on other ranks only, if this rank has no gradients
  // at all. zero(i): the gradient of parameter i.
  void complete(StepExchange::Gradients& gradients,
                const std::function<Tensor(std::size_t)>& zero) const;
  // Error on all ranks unless their weights are equal bit for bit.
  void check_weights() const;

 private:
  void check_positions();
  bool exchanges_on_device();

  std::shared_ptr<Communicator> ranks_;
  TrainedWeights& weights_;
  std::optional<bool> exchanges_on_device_;  // set when known
  std::optional<Index> checked_;             // TrainedWeights::selections at the last check
};

}  // namespace sten
