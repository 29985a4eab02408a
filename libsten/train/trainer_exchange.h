// A trainer's gradients on their way to other ranks.
#pragma once
#include "libsten/train/gradient_exchange.h"
#include "libsten/train/trainer.h"

namespace sten {

class Trainer::Exchange {
 public:
  // `gradients` stay where they are, and become the sums over ranks.
  Exchange(Trainer& trainer, Gradients& gradients);
  // Of parameter i, of all ranks in the same order.
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
