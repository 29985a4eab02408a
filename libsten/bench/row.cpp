#include "libsten/bench/row.h"

#include <fmt/ranges.h>

#include "kernels/isa.h"
#include "libsten/report/svg_chart.h"

namespace sten {

Report bench_report(const std::vector<BenchRow>& rows) {
  Report r;
  r.program = "sten-bench";
  r.item = "results";
  r.whole_rows = true;
  r.columns = {
      {"bench", "bench", Unit::text},         {"form", "form", Unit::text},
      {"shape", "shape", Unit::shape},        {"layout", "layout", Unit::text},
      {"library", "library", Unit::text},     {"input", "input", Unit::text},
      {"model", "model", Unit::text},         {"isa", "isa", Unit::text},
      {"threads", "threads", Unit::count},    {"ranks", "ranks", Unit::count},
      {"bytes", "bytes", Unit::bytes},        {"ms", "ms", Unit::measured},
      {"gflops", "GFLOP/s", Unit::measured},  {"input_gb_per_s", "GB/s", Unit::measured},
      {"pack_ms", "pack ms", Unit::measured}, {"pack_products", "in products", Unit::measured},
      {"ratio", "ratio", Unit::measured},     {"ratio_low", "low", Unit::measured},
      {"ratio_high", "high", Unit::measured}, {"repeats", "repeats", Unit::count}};
  r.spare = {"repeats", "isa",        "ranks",          "pack_products", "pack_ms",  "library",
             "bench",   "ratio_high", "input_gb_per_s", "form",          "ratio_low"};
  for (const BenchRow& b : rows) {
    std::vector<Cell>& row = r.rows.emplace_back();
    r.at(row, "bench") = b.bench;
    if (!b.form.empty()) r.at(row, "form") = b.form;
    if (!b.model.empty()) r.at(row, "model") = b.model;
    r.at(row, "shape") = b.shape;
    r.at(row, "layout") = b.layout;
    if (!b.library.empty()) r.at(row, "library") = b.library;
    if (!b.input.empty()) r.at(row, "input") = b.input;
    r.at(row, "isa") =
        b.device.empty() ? std::string(kernels::name_of(kernels::active_isa())) : b.device;
    r.at(row, "threads") = Index{b.threads};
    if (b.ranks > 1) r.at(row, "ranks") = Index{b.ranks};
    if (b.bytes) r.at(row, "bytes") = *b.bytes;
    r.at(row, "ms") = 1e3 * b.seconds;
    if (b.gflops) r.at(row, "gflops") = *b.gflops;
    if (b.input_gb_per_s) r.at(row, "input_gb_per_s") = *b.input_gb_per_s;
    if (b.pack_seconds) r.at(row, "pack_ms") = 1e3 * *b.pack_seconds;
    if (b.pack_products) r.at(row, "pack_products") = *b.pack_products;
    if (b.ratio) {
      r.at(row, "ratio") = b.ratio->median;
      r.at(row, "ratio_low") = b.ratio->low;
      r.at(row, "ratio_high") = b.ratio->high;
    }
    r.at(row, "repeats") = Index{b.repeats};
  }
  return r;
}

std::string describe(const BenchRow& row) {
  std::string text = row.bench;
  for (const std::string& part : {row.form, row.model, row.layout, row.library, row.input})
    if (!part.empty()) text += " " + part;
  if (!row.device.empty())
    return fmt::format("{} {}, {}", text, fmt::join(row.shape, "x"), row.device);
  text = fmt::format("{} {}, {} thread{}", text, fmt::join(row.shape, "x"), row.threads,
                     row.threads == 1 ? "" : "s");
  return row.ranks == 1 ? text : fmt::format("{}, {} ranks", text, row.ranks);
}

std::string bench_chart(const std::vector<BenchRow>& rows) {
  BarChart chart{.title = "Speed-up measured by sten-bench"};
  chart.axis.label = "times as fast as the baseline";
  for (const BenchRow& b : rows) {
    if (!b.ratio) continue;
    chart.groups.push_back({describe(b), {b.ratio->median}});
  }
  return to_svg(chart);
}

}  // namespace sten
