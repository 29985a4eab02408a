// How long runs of a model take.
#pragma once
#include <functional>
#include <vector>

#include "libsten/report/report.h"

namespace sten {

class Latency {
 public:
  // Runs it, and remembers the seconds that passed for so many rows.
  void add(Index rows, const std::function<void()>& run);
  // Percentiles of a batch's seconds, and rows a second; nothing where nothing was timed.
  void add_to(Report& r) const;

 private:
  std::vector<double> seconds_;
  Index rows_ = 0;
};

}  // namespace sten
