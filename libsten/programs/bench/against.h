// SPDX-License-Identifier: Apache-2.0
// Comparison with an earlier run of sten-bench, by ratios.
#pragma once
#include <functional>

#include "libsten/programs/bench/row.h"

namespace sten {

class Baseline {
 public:
  // Reads a file of `sten-bench -o FILE.json`. Error for other files, and for a run on another CPU
  // or ISA, whose ratios are not comparable.
  static Baseline read(const std::string& path, const std::string& cpu, const std::string& isa);

  // How many times slower a row is, and the allowed slowdown: the larger of `limit` and the 95 %
  // spread of both runs (errors are independent, so their logarithms add as squares).
  struct Slowdown {
    double baseline, times, allowed;
    bool is_alarm() const { return times > allowed; }
  };
  // None if the baseline lacks the row, or either has no ratio. Rivals are not compared.
  std::optional<Slowdown> slowdown(const BenchRow& row, double limit) const;

  // Measures a row beyond `limit` up to twice more and keeps the best time, since a busy machine
  // slows down one process more than another. Returns a Slowdown per row.
  std::vector<std::optional<Slowdown>> compare(
      std::vector<BenchRow>& rows, double limit,
      const std::function<std::optional<BenchRow>(const BenchRow&)>& measure_again) const;

  const std::string& path() const { return path_; }

 private:
  struct Row {
    std::string bench, form, model, input, layout, precision, isa;
    Shape shape;
    int threads = 0;
    Spread ratio;
  };
  std::string path_;
  std::vector<Row> rows_;
};

}  // namespace sten
