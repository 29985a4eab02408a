// SPDX-License-Identifier: Apache-2.0
// Layouts that are slower than dense in sten-bench.
#pragma once
#include "libsten/programs/bench/bench_options.h"

namespace sten {

// Whether the benchmark's ratios are relative to dense: gemm and model.
bool compares_with_dense(const std::string& bench);

// Adds a note and "slower_than_dense/ROW", the ratio, for sten's products and whole models in a
// sparse layout whose `ratio_high` is below 1. Returns the note; empty if there are none.
std::string add_slower(const BenchOptions& options, const std::vector<BenchRow>& rows, Report& r);

}  // namespace sten
