// SPDX-License-Identifier: Apache-2.0
// Run times of a model.
#pragma once
#include <functional>
#include <vector>

#include "libsten/report/report.h"

namespace sten {

class Latency {
 public:
  // Runs a batch of `rows` rows and records the time.
  void add(Index rows, const std::function<void()>& run);
  // Adds percentiles of the seconds per batch, and rows per second, to a report; no-op without
  // runs.
  void add_to(Report& r) const;

 private:
  std::vector<double> seconds_;
  Index rows_ = 0;
};

}  // namespace sten
