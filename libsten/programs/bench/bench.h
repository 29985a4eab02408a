// SPDX-License-Identifier: Apache-2.0
// sten-bench: benchmarks of this machine, as ratios from interleaved timing.
#pragma once
#include "libsten/programs/bench/bench_options.h"

namespace sten {

// Runs a benchmark. Error (usage) for invalid options, before any measurement. With `against`, a
// slower row is a failed check.
Outcome run_bench(const BenchOptions& options);

}  // namespace sten
