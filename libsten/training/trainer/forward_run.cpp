// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/forward_run.h"

#include <algorithm>

#include "libsten/training/trainer/batch_runner.h"

namespace sten {

ForwardRunResult run_in_segments(const ForwardRun& run) {
  ForwardRunResult result;
  if (run.parts.empty()) return result;
  BatchRunner runner(run.graph, run.parts.back().end, run.weight);
  std::vector<BatchActivations> stored(run.batches.size());
  std::size_t begin = 0;
  for (std::size_t p = 0; p < run.parts.size(); ++p) {
    const ForwardRun::Part& part = run.parts[p];
    const std::vector<std::size_t> live = runner.live_at(part.end);
    std::vector<std::size_t> wanted = live;
    for (const std::size_t value : part.observed)
      if (std::ranges::count(live, value) == 0) wanted.push_back(value);
    {
      Segment segment = runner.segment(begin, wanted);
      Index bytes = 0;
      for (std::size_t b = 0; b < run.batches.size(); ++b) {
        BatchValues values(stored[b], run.graph, run.batches[b]);
        segment.run(values);
        run.observe(p, values);
        BatchActivations next = values.part(live);
        if (bytes_of(next) * std::ssize(run.batches) > most_float32_bytes) {
          result.is_rounded = true;
          for (auto& [value, a] : next) a = rounded(a);
        }
        bytes += bytes_of(next);
        stored[b] = std::move(next);
      }
      result.most_bytes = std::max(result.most_bytes, bytes);
    }
    begin = part.end;
    (void)runner.release_before(begin);
    run.released();
  }
  return result;
}

}  // namespace sten
