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
  // Of weights of a file in that layout: whose zeros they have, "file" or "pruned" (before they were
  // measured), and the share of zeros. Empty: random ones.
  std::string zeros{};
  std::optional<double> sparsity{};
  std::optional<Index>
      ignored_zeros{};  // sparse weights whose zeros are multiplied; see ignored_zeros()
  std::string library;  // somebody else's; empty: our own
  std::string device;   // that it ran on; empty: the CPU
  std::string precision = "float32";  // of the factors; sums are of 32 bits
  std::string kernel{};               // what a library calls it, where it says so; empty: unknown
  int threads = 1;
  int ranks = 1;
  std::optional<Index> bytes;     // that each rank gives to others
  double seconds = 0;             // median
  std::optional<double> gflops;   // useful ones: 2 per stored value and column
  std::optional<double> of_peak;  // the part of what cores do in that precision
  // The largest difference from what double precision gives, over the largest element.
  std::optional<double> error;
  std::optional<double> input_gb_per_s;
  // Of what the first product with a weight packs beside, or of what is packed to travel, which is
  // part of `seconds`: seconds, and in products, medians.
  std::optional<double> pack_seconds, pack_products;
  std::optional<Spread> ratio;  // to the baseline, above 1 is faster
  // To the fastest dense product of a library in a lower precision, and to our own dense one in the
  // precision of the row.
  std::optional<double> to_bf16, to_float16, to_int8, to_own;
  int repeats = 0;
};

// The instruction set that it ran with, or the device.
std::string isa_of(const BenchRow& row);

// "gemm csr:sparsity=0.9 768x3072x4096, 1 thread"
std::string describe(const BenchRow& row);

// "fastest of linear 768x3072x4096, 1 thread: ..., 9.79 ms, error 0.0026", and of the dense ones.
// There is a dense row.
std::string name_fastest(const std::string& of, const std::vector<BenchRow>& rows);

// Columns and rows; JSON has all of the keys in each row.
Report bench_report(const std::vector<BenchRow>& rows);

// The ratios as bars.
std::string bench_chart(const std::vector<BenchRow>& rows);

}  // namespace sten
