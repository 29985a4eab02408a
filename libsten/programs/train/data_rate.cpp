// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/train/data_rate.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include "libsten/core/base/parallel.h"

namespace sten {

void add_data_rate(const Task& task, Report& report) {
  if (task.recipe().data.kind != "images") return;
  using Clock = std::chrono::steady_clock;
  task.batch(0);  // the next batch is prefetched from here on
  const Clock::time_point begin = Clock::now();
  const std::clock_t cpu_begin = std::clock();
  Index images = 0;
  for (Index step = 1; step <= task.steps_per_epoch(); ++step) {
    for (const BatchPart& part : task.batch(step)) images += rows_of(part);
    if (Clock::now() - begin > std::chrono::seconds(2)) break;
  }
  if (images == 0) return;
  const double n = static_cast<double>(images);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const double ms = 1e3 * static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC / n;
  const double rate = n / std::max(seconds, 1e-9);
  report.facts.emplace_back("images/per_second", rate);
  report.facts.emplace_back("images/cpu_ms", ms);
  report.notes.push_back(fmt::format(
      "batches: {:.0f} images per second by {} thread{}, {:.2f} ms of processor time per image",
      rate, threads(), threads() == 1 ? "" : "s", ms));
}

}  // namespace sten
