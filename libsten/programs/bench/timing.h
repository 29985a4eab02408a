// SPDX-License-Identifier: Apache-2.0
// Interleaved timing: repeats all variants in turn, so that a slower machine slows all of them.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "libsten/training/comm/communicator.h"

namespace sten {

// Seconds of a call. On one thread, its CPU time, which other processes do not affect; on several
// threads, elapsed time.
double seconds_of(const std::function<void()>& work, int threads);

struct TimingOptions {
  std::optional<int> repeats;  // none: at least 15, more while ratios vary and time allows
  int threads = 1;             // of each variant
  // Runs before each variant, untimed.
  std::function<void()> before{};
  Communicator* ranks = nullptr;  // ranks that run each variant together, equally often;
                                  // seconds are elapsed time on this rank
};

// seconds[variant][repeat]: each variant once untimed, then A B C A B C ...
std::vector<std::vector<double>> time_interleaved(
    const std::vector<std::function<void()>>& variants, const TimingOptions& timing);

double median(std::vector<double> values);

// A median and its 95 % confidence interval for any distribution: order statistics by the binomial
// distribution. Below six values: minimum and maximum.
struct Spread {
  double median = 0, low = 0, high = 0;
};
Spread spread_of(std::vector<double> values);

// How many times faster `variant` is than `baseline`, from the ratios of each repetition.
Spread speedup(const std::vector<double>& baseline, const std::vector<double>& variant);

}  // namespace sten
