// Times of several ways of doing the same, taken in turns, so that a machine that slows down slows
// down all of them.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "libsten/comm/communicator.h"

namespace sten {

// Seconds of one call. On one thread, this one, they are those that it computed, so that what
// others take in the meantime does not count; on several they are those that passed.
double seconds_of(const std::function<void()>& work, int threads);

struct TimingOptions {
  std::optional<int> repeats;  // absent: at least 15, more while ratios scatter and time allows
  int threads = 1;             // that each way works on
  // Before each way, and not timed.
  std::function<void()> before{};
  Communicator* ranks = nullptr;  // that begin each way together, with as many turns; seconds are
                                  // those that passed on this one
};

// seconds[way][turn]: every way once untimed, then A B C A B C ...
std::vector<std::vector<double>> time_interleaved(
    const std::vector<std::function<void()>>& variants, const TimingOptions& timing);

double median(std::vector<double> values);

// A median and where the true one lies with a probability of 95 %, whatever the distribution: order
// statistics by the binomial distribution. Below six values: the least and the greatest.
struct Spread {
  double median = 0, low = 0, high = 0;
};
Spread spread_of(std::vector<double> values);

// How many times faster `variant` is than `baseline`, from the ratios within each turn.
Spread speedup(const std::vector<double>& baseline, const std::vector<double>& variant);

}  // namespace sten
