// One measurement of sten-bench, and a table of them.
#pragma once
#include <optional>

#include "libsten/bench/timing.h"
#include "libsten/report/report.h"

namespace sten {

struct BenchRow {
  std::string bench;
  std::string form;   // of a product; empty: none
  std::string input;  // distribution of the numbers; empty: does not matter
  std::string model;  // a convolutional one, "wrn-16-8"; empty: another, or none
  Shape shape;
  std::string layout;
  std::string library;  // somebody else's; empty: our own
  std::string device;   // that it ran on; empty: the CPU
  int threads = 1;
  int ranks = 1;
  std::optional<Index> bytes;    // that each rank gives to others
  double seconds = 0;            // median
  std::optional<double> gflops;  // useful ones: 2 per stored value and column
  std::optional<double> input_gb_per_s;
  // Of what the first product with a weight packs beside, or of what is packed to travel, which is
  // part of `seconds`: seconds, and in products, medians.
  std::optional<double> pack_seconds, pack_products;
  std::optional<Spread> ratio;  // to the baseline, above 1 is faster
  int repeats = 0;
};

// "gemm csr:sparsity=0.9 768x3072x4096, 1 thread"
std::string describe(const BenchRow& row);

// Columns and rows; JSON has all of the keys in each row.
Report bench_report(const std::vector<BenchRow>& rows);

// The ratios as bars.
std::string bench_chart(const std::vector<BenchRow>& rows);

}  // namespace sten
