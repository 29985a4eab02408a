// sten-bench: what this machine reaches, as ratios that were measured in turns.
#pragma once
#include "libsten/run/bench/row.h"
#include "libsten/run/rewrite.h"

namespace sten {

struct BenchOptions {
  std::string bench;                 // "gemm", "convert"
  std::vector<std::string> shapes;   // "768x3072x4096"; of convert "768x3072"; empty: the paper's
  std::vector<std::string> layouts;  // specs; empty: some for each bench
  std::vector<std::string> forms;    // of gemm: see BenchProduct; empty: gemm
  std::vector<std::string> inputs;   // of convert: see bench_input(); empty: normal
  std::vector<int> threads;          // empty: 1
  std::optional<int> repeats;        // see Turns
  std::uint64_t seed = 0;
  std::string against;                 // results of an earlier run; empty: none
  std::optional<double> max_slowdown;  // 1.1
  std::vector<std::string> outputs;    // files: .json, .csv, .md, .svg
  bool force = false;                  // they may be replaced
};

// Error (usage) for what cannot be measured, before anything is. With `against`, what became slower
// is a check that fails, and then nothing is written.
Outcome run_bench(const BenchOptions& options);

}  // namespace sten
