// Rows of sten-bench whose layout is slower than dense.
#pragma once
#include "libsten/bench/bench.h"

namespace sten {

// Whether ratios of the benchmark are to dense: of gemm and model.
bool compares_with_dense(const std::string& bench);

// Adds to the report a note and "slower_than_dense/ROW", the ratio, for our own products and whole
// models in a sparse layout whose `ratio_high` is below 1. Returns the note; empty if there are none.
std::string add_slower(const BenchOptions& options, const std::vector<BenchRow>& rows, Report& r);

}  // namespace sten
