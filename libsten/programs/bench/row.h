// SPDX-License-Identifier: Apache-2.0
// Row of sten-bench: one measurement; and the table of rows.
#pragma once
#include <optional>

#include "libsten/programs/bench/timing.h"
#include "libsten/report/report.h"

namespace sten {

struct BenchRow {
  std::string bench;
  std::string form;   // of a product; empty: none
  std::string input;  // distribution of values; empty: irrelevant
  std::string model;  // convolutional, "wrn-16-8"; empty: another, or none
  Shape shape;
  std::string layout;
  // Weights from a file: the source of zeros, "file" or "pruned" (before the measurement), and
  // their share. Empty: random weights.
  std::string zeros{};
  std::optional<double> sparsity{};
  std::optional<Index>
      ignored_zeros{};                // sparse weights with multiplied zeros; see ignored_zeros()
  std::string library;                // a rival; empty: sten
  std::string device;                 // empty: the CPU
  std::string precision = "float32";  // of factors; sums have 32 bits
  std::string kernel{};               // the library's name of its kernel; empty: unknown
  int threads = 1;
  int ranks = 1;
  std::optional<Index> bytes;     // sent by each rank
  double seconds = 0;             // median
  std::optional<double> gflops;   // useful ones: 2 per stored value and column
  std::optional<double> of_peak;  // share of the peak in this precision
  // The largest difference from double precision divided by the largest element.
  std::optional<double> error;
  std::optional<double> input_gb_per_s;
  // Median time of packing, in seconds and in products: by the first product with a weight, or of
  // messages, where it is part of `seconds`.
  std::optional<double> pack_seconds, pack_products;
  std::optional<Spread> ratio;  // relative to the baseline; above 1 is faster
  // Relative to the fastest dense product of a library in a lower precision, and to sten's dense
  // product in the row's precision.
  std::optional<double> to_bf16, to_float16, to_int8, to_own;
  int repeats = 0;
};

// The ISA, or the device.
std::string isa_of(const BenchRow& row);

// "gemm csr:sparsity=0.9 768x3072x4096, 1 thread"
std::string describe(const BenchRow& row);

// "fastest of linear 768x3072x4096, 1 thread: ..., 9.79 ms, error 0.0026", also of dense rows.
// `rows` has a dense row.
std::string name_fastest(const std::string& of, const std::vector<BenchRow>& rows);

// The table; JSON has all keys in each row.
Report bench_report(const std::vector<BenchRow>& rows);

// Bars of the ratios, with their ranges.
BarChart ratio_chart(const std::vector<BenchRow>& rows);
// The row with the largest ratio, with its time and its baseline's.
std::vector<KeyFigure> bench_figures(const std::vector<BenchRow>& rows);

}  // namespace sten
