// Whether something became slower than in an earlier run, by ratios alone.
#pragma once
#include <functional>

#include "libsten/bench/row.h"

namespace sten {

class Baseline {
 public:
  // What `sten-bench -o FILE.json` wrote. Error for anything else, and for a run on another CPU or
  // with another ISA: those ratios say nothing about this one.
  static Baseline read(const std::string& path, const std::string& cpu, const std::string& isa);

  // How many times slower a row is, and how many times it may be: `limit`, or what the 95 % spreads
  // of both runs allow (independent errors, so their logarithms add as squares) if that is more.
  struct Slowdown {
    double baseline, times, allowed;
    bool is_alarm() const { return times > allowed; }
  };
  // No value where the baseline has no such row, or where either has no ratio. Products of
  // other libraries are what ours are measured against, and are not compared.
  std::optional<Slowdown> slowdown(const BenchRow& row, double limit) const;

  // A row beyond `limit` is measured up to twice more, since a busy machine slows down one process
  // more than the other; its best time counts. Returns a Slowdown for each row.
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
