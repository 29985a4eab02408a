// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/bench/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <thread>

#include "libsten/core/base/parallel.h"

namespace sten {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int min_repeats = 15, max_repeats = 101;
constexpr int min_slow_repeats = 5;   // for variants that are too slow for 15
constexpr double patience = 10;       // seconds, after which min_slow_repeats are enough
constexpr double extra_patience = 3;  // seconds that further repetitions may take
constexpr double narrow = 1.04;       // high / low of a ratio that needs no further repetitions

double read(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Waits before a variant with several threads: those of OpenMP and OpenBLAS stay awake for up to a
// tenth of a second after their work and would slow down the next variant.
void wait_for_rest() {
  constexpr int most_steps = 50;
  constexpr std::chrono::milliseconds step(10);
  for (int i = 0; i < most_steps; ++i) {
    const double computed = read(CLOCK_PROCESS_CPUTIME_ID), start = read(CLOCK_MONOTONIC);
    std::this_thread::sleep_for(step);
    const double share =
        (read(CLOCK_PROCESS_CPUTIME_ID) - computed) / (read(CLOCK_MONOTONIC) - start);
    if (share < 0.05) return;
  }
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Idle cores sleep, on virtual machines for milliseconds after they are needed, so all cores
// compute for a moment.
void wake_cores(int threads) {
  constexpr double moment = 3e-3;  // seconds
  parallel_for(threads, 1, [](Index, Index) {
    const Clock::time_point start = Clock::now();
    while (seconds_since(start) < moment) {
    }
  });
}

bool scatters(const std::vector<std::vector<double>>& seconds) {
  for (std::size_t variant = 1; variant < seconds.size(); ++variant) {
    const Spread s = speedup(seconds[0], seconds[variant]);
    if (s.high > narrow * s.low) return true;
  }
  return false;
}

}  // namespace

double seconds_of(const std::function<void()>& work, int threads) {
  const clockid_t clock = threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  const double start = read(clock);
  work();
  return read(clock) - start;
}

std::vector<std::vector<double>> time_interleaved(
    const std::vector<std::function<void()>>& variants, const TimingOptions& timing) {
  for (const auto& variant : variants) variant();
  std::vector<std::vector<double>> seconds(variants.size());
  const Clock::time_point start = Clock::now();
  const auto enough = [&](int repeat) {
    if (timing.repeats) return repeat >= *timing.repeats;
    const double spent = seconds_since(start);
    if (repeat < min_repeats) return repeat >= min_slow_repeats && spent > patience;
    return repeat >= max_repeats || spent > extra_patience || !scatters(seconds);
  };
  const bool are_several = timing.ranks && timing.ranks->size() > 1;
  const auto ends = [&](int repeat) {
    return are_several ? timing.ranks->gather(enough(repeat))[0] != 0 : enough(repeat);
  };
  for (int repeat = 0; !ends(repeat); ++repeat)
    for (std::size_t variant = 0; variant < variants.size(); ++variant) {
      if (are_several) {
        timing.ranks->barrier();
      } else if (timing.threads > 1) {
        wait_for_rest();
        wake_cores(timing.threads);
      }
      if (timing.before) timing.before();
      seconds[variant].push_back(
          std::max(1e-9, seconds_of(variants[variant], are_several ? 2 : timing.threads)));
    }
  return seconds;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  // The largest rank r with P(Binomial(n, 1/2) < r) <= 2.5 %.
  std::size_t rank = 0;
  double probability = std::pow(0.5, n), below = probability;  // P(exactly 0), P(at most 0)
  while (below <= 0.025 && rank < n / 2) {
    ++rank;
    probability *= static_cast<double>(n - rank + 1) / static_cast<double>(rank);
    below += probability;
  }
  const std::size_t low = rank == 0 ? 0 : rank - 1;
  return {median(values), values[low], values[n - 1 - low]};
}

Spread speedup(const std::vector<double>& baseline, const std::vector<double>& variant) {
  std::vector<double> ratios(variant.size());
  for (std::size_t i = 0; i < variant.size(); ++i) ratios[i] = baseline[i] / variant[i];
  return spread_of(std::move(ratios));
}

}  // namespace sten
