#include "libsten/run/bench/bench.h"

#include <deque>

#include "libsten/base/text.h"
#include "libsten/run/bench/convert.h"

namespace sten {
namespace {

void check_output_path(const std::string& path) {
  for (const char* ending : {".json", ".csv", ".md", ".svg"})
    if (path.ends_with(ending)) return;
  fail_usage("-o {}: the name has to end in .json, .csv, .md or .svg", quote(path));
}

BenchOptions with_defaults(BenchOptions o) {
  if (o.shapes.empty()) o.shapes = {"bert-ffn-out"};
  if (o.inputs.empty()) o.inputs = {"normal"};
  if (o.threads.empty()) o.threads = {1};
  if (o.layouts.empty())
    o.layouts = {"nmg:n=2,m=4,g=16", "nmg:n=1,m=10,g=4", "nmg:n=3,m=6,g=16", "nmg:n=1,m=4,g=16",
                 "nmg:n=2,m=8,g=8"};
  return o;
}

}  // namespace

Outcome run_bench(const BenchOptions& given) {
  if (given.bench != "convert")
    fail_usage("BENCH {} is not convert{}", quote(given.bench),
               suggestion(given.bench, {"convert"}));
  const BenchOptions o = with_defaults(given);
  std::deque<OutputFile> outputs;
  for (const std::string& path : o.outputs) check_output_path(path);
  for (const std::string& path : o.outputs) outputs.emplace_back(path, o.force);
  const std::vector<BenchRow> rows = bench_convert(o);
  Outcome outcome{bench_report(rows), std::nullopt};
  outcome.report.notes.push_back(
      "ratio: to the paper's greedy with std::sort on one thread, above 1 is faster");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!o.outputs[i].ends_with(".svg")) {
      write_report(outcome.report, o.outputs[i], outputs[i]);
      continue;
    }
    const std::string svg = bench_chart(rows);
    outputs[i].write(std::as_bytes(std::span(svg)));
    outputs[i].commit();
  }
  return outcome;
}

}  // namespace sten
