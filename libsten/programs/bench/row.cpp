// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/bench/row.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "kernels/isa.h"
#include "libsten/report/short_names.h"

namespace sten {

std::string isa_of(const BenchRow& row) {
  if (!row.device.empty()) return row.device;
  return kernels::name_of(row.precision == "float32" ? kernels::float32_isa()
                                                     : kernels::active_isa());
}

Report bench_report(const std::vector<BenchRow>& rows) {
  Report r;
  r.program = "sten-bench";
  r.item = "results";
  r.whole_rows = true;
  r.columns = {{"bench", "bench", Unit::text},
               {"form", "form", Unit::text},
               {"shape", "shape", Unit::shape},
               {"layout", "layout", Unit::text},
               {"library", "library", Unit::text},
               {"precision", "precision", Unit::text},
               {"input", "input", Unit::text},
               {"model", "model", Unit::text},
               {"zeros", "zeros", Unit::text},
               {"sparsity", "sparsity", Unit::fraction},
               {"ignored_zeros", "", Unit::count, true},
               {"isa", "isa", Unit::text},
               {"threads", "threads", Unit::count},
               {"ranks", "ranks", Unit::count},
               {"bytes", "bytes", Unit::bytes},
               {"ms", "ms", Unit::measured},
               {"error", "error", Unit::measured},
               {"gflops", "GFLOP/s", Unit::measured},
               {"of_peak", "of peak", Unit::fraction},
               {"input_gb_per_s", "GB/s", Unit::measured},
               {"pack_ms", "pack ms", Unit::measured},
               {"pack_products", "in products", Unit::measured},
               {"ratio", "ratio", Unit::measured},
               {"ratio_low", "low", Unit::measured},
               {"ratio_high", "high", Unit::measured},
               {"to_bf16", "to bf16", Unit::measured},
               {"to_float16", "to float16", Unit::measured},
               {"to_int8", "to int8", Unit::measured},
               {"to_own", "to own", Unit::measured},
               {"repeats", "repeats", Unit::count},
               {"kernel", "kernel", Unit::text, true}};
  r.optional_columns = {"repeats", "isa",       "ranks", "pack_products", "pack_ms",
                        "of_peak", "library",   "bench", "ratio_high",    "input_gb_per_s",
                        "form",    "ratio_low", "to_own"};
  for (const BenchRow& b : rows) {
    std::vector<Cell>& row = r.rows.emplace_back();
    r.at(row, "bench") = b.bench;
    if (!b.form.empty()) r.at(row, "form") = b.form;
    if (!b.model.empty()) r.at(row, "model") = b.model;
    r.at(row, "shape") = b.shape;
    r.at(row, "layout") = b.layout;
    if (!b.zeros.empty()) r.at(row, "zeros") = b.zeros;
    if (b.sparsity) r.at(row, "sparsity") = *b.sparsity;
    if (!b.library.empty()) r.at(row, "library") = b.library;
    if (!b.input.empty()) r.at(row, "input") = b.input;
    // Other benchmarks compute in float32 only.
    if (b.bench == "gemm" || b.bench == "model" || (b.bench == "step" && !b.device.empty()))
      r.at(row, "precision") = b.precision;
    r.at(row, "isa") = isa_of(b);
    r.at(row, "threads") = Index{b.threads};
    if (b.ranks > 1) r.at(row, "ranks") = Index{b.ranks};
    if (b.bytes) r.at(row, "bytes") = *b.bytes;
    r.at(row, "ms") = 1e3 * b.seconds;
    if (b.error) r.at(row, "error") = *b.error;
    if (b.gflops) r.at(row, "gflops") = *b.gflops;
    if (b.of_peak) r.at(row, "of_peak") = *b.of_peak;
    if (b.input_gb_per_s) r.at(row, "input_gb_per_s") = *b.input_gb_per_s;
    if (b.pack_seconds) r.at(row, "pack_ms") = 1e3 * *b.pack_seconds;
    if (b.pack_products) r.at(row, "pack_products") = *b.pack_products;
    if (b.ratio) {
      r.at(row, "ratio") = b.ratio->median;
      r.at(row, "ratio_low") = b.ratio->low;
      r.at(row, "ratio_high") = b.ratio->high;
    }
    if (b.to_bf16) r.at(row, "to_bf16") = *b.to_bf16;
    if (b.to_float16) r.at(row, "to_float16") = *b.to_float16;
    if (b.to_int8) r.at(row, "to_int8") = *b.to_int8;
    if (b.to_own) r.at(row, "to_own") = *b.to_own;
    r.at(row, "repeats") = Index{b.repeats};
    if (!b.kernel.empty()) r.at(row, "kernel") = b.kernel;
    if (b.ignored_zeros) r.at(row, "ignored_zeros") = *b.ignored_zeros;
  }
  return r;
}

std::string describe(const BenchRow& row) {
  std::string text = row.bench;
  for (const std::string& part : {row.form, row.model, row.layout, row.library, row.input})
    if (!part.empty()) text += " " + part;
  if (row.precision != "float32") text += " in " + row.precision;
  if (!row.device.empty())
    return fmt::format("{} {}, {}", text, fmt::join(row.shape, "x"), row.device);
  text = fmt::format("{} {}, {} thread{}", text, fmt::join(row.shape, "x"), row.threads,
                     row.threads == 1 ? "" : "s");
  return row.ranks == 1 ? text : fmt::format("{}, {} ranks", text, row.ranks);
}

std::string name_fastest(const std::string& of, const std::vector<BenchRow>& rows) {
  const auto in_words = [](const BenchRow& row) {
    std::string text = fmt::format("{} in {} by {}, {:.3g} ms", row.layout, row.precision,
                                   row.library.empty() ? "sten" : row.library, 1e3 * row.seconds);
    return row.error ? fmt::format("{}, error {:.2g}", text, *row.error) : text;
  };
  const BenchRow& all = *std::ranges::min_element(rows, {}, &BenchRow::seconds);
  std::string text = fmt::format("fastest of {}: {}", of, in_words(all));
  if (all.layout == "dense") return text;
  std::vector<BenchRow> dense;
  std::ranges::copy_if(rows, std::back_inserter(dense),
                       [](const BenchRow& row) { return row.layout == "dense"; });
  return fmt::format("{}; dense {}", text,
                     in_words(*std::ranges::min_element(dense, {}, &BenchRow::seconds)).substr(6));
}

BarChart ratio_chart(const std::vector<BenchRow>& rows) {
  std::vector<std::string> names;
  for (const BenchRow& b : rows) names.push_back(describe(b));
  const SharedEnds ends = shared_ends(names);
  BarChart chart{.title = "Speed relative to the baseline",
                 .subtitle = fmt::format("{}{}{}median and range of the repetitions", ends.prefix,
                                         ends.suffix.substr(ends.suffix.starts_with(' ')),
                                         (ends.prefix + ends.suffix).empty() ? "" : "; "),
                 .axis = {.label = "times as fast as the baseline"},
                 .reference = 1};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].ratio) continue;
    const std::string& name = names[i];
    const Spread& ratio = *rows[i].ratio;
    chart.groups.push_back(
        {name.substr(ends.prefix.size(), name.size() - ends.prefix.size() - ends.suffix.size()),
         {ratio.median},
         {{ratio.low, ratio.high}}});
  }
  return chart;
}

std::vector<KeyFigure> bench_figures(const std::vector<BenchRow>& rows) {
  const auto ratio = [](const BenchRow& row) { return row.ratio ? row.ratio->median : 0; };
  const auto best = std::ranges::max_element(rows, {}, ratio);
  if (best == rows.end() || !best->ratio) return {};
  const std::string at = fmt::format("results/{}/", best - rows.begin());
  return {{"largest ratio: " + best->layout, Unit::measured, at + "ratio"},
          {"its time (ms)", Unit::measured, at + "ms"},
          {"its rate (GFLOP/s)", Unit::measured, at + "gflops"}};
}

}  // namespace sten
