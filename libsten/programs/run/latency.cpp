// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/run/latency.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace sten {
namespace {

// The smallest of the sorted values that is not below a share of all values.
double percentile(const std::vector<double>& sorted, double share) {
  const auto n = static_cast<double>(sorted.size());
  const auto rank = static_cast<std::size_t>(std::max(1.0, std::ceil(share * n)));
  return sorted[rank - 1];
}

}  // namespace

void Latency::add(Index rows, const std::function<void()>& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  seconds_.push_back(took.count());
  rows_ += rows;
}

void Latency::add_to(Report& r) const {
  if (seconds_.empty()) return;
  std::vector<double> sorted = seconds_;
  std::ranges::sort(sorted);
  const double total = std::accumulate(sorted.begin(), sorted.end(), 0.0);
  const double p50 = percentile(sorted, 0.5), p90 = percentile(sorted, 0.9);
  const double p99 = percentile(sorted, 0.99), throughput = static_cast<double>(rows_) / total;
  r.facts.emplace_back("latency/runs", static_cast<Index>(sorted.size()));
  r.facts.emplace_back("latency/min", sorted.front());
  r.facts.emplace_back("latency/p50", p50);
  r.facts.emplace_back("latency/p90", p90);
  r.facts.emplace_back("latency/p99", p99);
  r.facts.emplace_back("throughput", throughput);
  r.charts.push_back(BarChart{.title = "Time of a batch",
                              .subtitle = fmt::format("{} runs", sorted.size()),
                              .axis = {.label = "time", .unit = "ms"},
                              .groups = {{"fastest", {1e3 * sorted.front()}},
                                         {"median", {1e3 * p50}},
                                         {"90 % at most", {1e3 * p90}},
                                         {"99 % at most", {1e3 * p99}}}});
  r.notes.push_back(fmt::format(
      "a batch took {:.3g} ms (median of {} runs; 90 % took at most {:.3g} ms, 99 % "
      "{:.3g} ms, the fastest {:.3g} ms): {:.4g} rows a second",
      1e3 * p50, sorted.size(), 1e3 * p90, 1e3 * p99, 1e3 * sorted.front(), throughput));
}

}  // namespace sten
