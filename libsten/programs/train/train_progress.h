// SPDX-License-Identifier: Apache-2.0
// Progress of training for people.
#pragma once
#include <chrono>

#include "libsten/core/base/shape.h"

namespace sten {

// A bar on standard error with loss, sparsity, rate and remaining time; silent unless `shown`.
class TrainProgress {
 public:
  // Starts at `done` of `steps`.
  TrainProgress(Index done, Index steps, bool shown);
  ~TrainProgress() { clear(); }
  TrainProgress(const TrainProgress&) = delete;
  TrainProgress& operator=(const TrainProgress&) = delete;

  void show(Index done, double loss, double sparsity, double rate);
  // Clears the bar, before other output and at the end.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  Index first_, steps_;
  bool shown_, drawn_ = false;
  double loss_ = 0;  // smoothed
  Clock::time_point start_, last_;
};

}  // namespace sten
