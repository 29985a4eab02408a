// How far training is, for a person who waits.
#pragma once
#include <chrono>

#include "libsten/base/shape.h"

namespace sten {

// A bar on standard error with loss, sparsity, rate and remaining time; silent unless asked for.
class TrainProgress {
 public:
  // `done` of `steps` at the beginning.
  TrainProgress(Index done, Index steps, bool shown);
  ~TrainProgress() { clear(); }
  TrainProgress(const TrainProgress&) = delete;
  TrainProgress& operator=(const TrainProgress&) = delete;

  void show(Index done, double loss, double sparsity, double rate);
  // For a line between, or the end.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  Index first_, steps_;
  bool shown_, drawn_ = false;
  double loss_ = 0;  // smoothed
  Clock::time_point start_, last_;
};

}  // namespace sten
