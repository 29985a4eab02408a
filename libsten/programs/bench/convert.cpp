// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/bench/convert.h"

#include "libsten/core/base/parallel.h"
#include "libsten/programs/bench/bench_layout.h"
#include "libsten/programs/bench/input.h"
#include "libsten/programs/bench/paper_greedy.h"

namespace sten {
namespace {

BenchRow measure(const BenchLayout& layout, const Dense& x, int threads, const BenchOptions& o) {
  set_threads(threads);
  std::optional<PaperGreedy> greedy;
  if (layout.layout.is(Nmg::name)) {
    const Spec& s = layout.layout;
    const auto geometry = NmgGeometry::of(x.extents, s.integer("n"), s.integer("m"), s.integer("g"),
                                          s.integer("axis", 0), dims_of(s));
    if (PaperGreedy::is_feasible(geometry)) greedy.emplace(x, s);
  }
  std::vector<std::function<void()>> variants;
  if (greedy) variants.push_back([&] { greedy->run(); });
  variants.push_back([&] { layout.convert(x); });
  const auto seconds = time_interleaved(variants, {.repeats = o.repeats, .threads = threads});
  BenchRow row;
  row.bench = "convert";
  row.shape = x.extents;
  row.layout = layout.name;
  row.threads = threads;
  row.seconds = median(seconds.back());
  row.input_gb_per_s = static_cast<double>(x.values.bytes().size()) / row.seconds / 1e9;
  if (greedy) row.ratio = speedup(seconds[0], seconds[1]);
  row.repeats = static_cast<int>(seconds.back().size());
  return row;
}

}  // namespace

std::vector<BenchRow> bench_convert(const BenchOptions& o) {
  std::vector<Shape> shapes;
  for (const std::string& s : o.shapes) shapes.push_back(parse_bench_shape(s, 2));
  std::vector<BenchLayout> layouts;
  for (const std::string& l : o.layouts) layouts.push_back(BenchLayout::parse(l));
  for (const std::string& input : o.inputs) bench_input(input, {0, 0}, 0);
  std::vector<BenchRow> rows;
  for (const Shape& shape : shapes)
    for (const std::string& input : o.inputs) {
      const Dense x = bench_input(input, shape, o.seed);
      for (const BenchLayout& layout : layouts) {
        const Dense prepared = layout.prepare(x);
        for (const int threads : o.threads) {
          rows.push_back(measure(layout, prepared, threads, o));
          rows.back().input = input;
        }
      }
    }
  return rows;
}

}  // namespace sten
