// SPDX-License-Identifier: Apache-2.0
// Progress of training for people.
#pragma once
#include <chrono>
#include <optional>

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

  // `loss`: of the last step; none if its batch had no predictions.
  void show(Index done, std::optional<double> loss, double sparsity, double rate);
  // Clears the bar, before other output and at the end.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  Index first_, steps_;
  bool shown_, drawn_ = false;
  std::optional<double> loss_;  // smoothed
  Clock::time_point start_, last_;
};

}  // namespace sten
