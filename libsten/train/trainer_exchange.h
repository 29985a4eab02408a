// Gradient exchange of a trainer.
#pragma once
#include "libsten/train/gradient_exchange.h"
#include "libsten/train/trainer.h"

namespace sten {

class Trainer::Exchange {
 public:
  // Replaces `gradients`, which must outlive this object, by the sums over ranks.
  Exchange(Trainer& trainer, Gradients& gradients);
  // Adds the gradient of parameter i, in the same order on all ranks.
  void add(std::size_t i);
  GradientTraffic finish();

 private:
  Trainer& trainer_;
  Gradients& gradients_;
  GradientExchange exchange_;
  GradientTraffic traffic_{};
  std::uint64_t before_ = 0;  // bytes
};

}  // namespace sten
