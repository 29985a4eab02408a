// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/energy/energy_sweep.h"

#include <algorithm>

#include "libsten/core/base/cuda.h"
#include "libsten/core/layout/nm.h"
#include "libsten/core/layout/nmgv.h"
#include "libsten/core/registry/registry.h"
#include "libsten/core/registry/structure.h"
#include "libsten/files/system/lack_of_memory.h"
#include "libsten/programs/measure/measure.h"
#include "libsten/programs/rewrite/axis.h"
#include "libsten/report/progress.h"
#include "libsten/report/svg_chart.h"

namespace sten {
namespace {

// Sums over all tensors for one structure.
struct Point {
  std::string family, structure;
  Spec sparsifier;
  Index zeros = 0;
  Magnitudes magnitudes;
};

// The structure with the given axis, unless --structure has one.
Spec with_axis(Spec structure, std::optional<Index> axis) {
  return axis ? structure.set("axis", *axis) : structure;
}

// "n:m along rows (axis 1), n:m:g down columns (axis 0)"
std::string axes_text(std::optional<Index> axis) {
  const auto text = [&](const char* name) {
    return axis_text(*axis_of(with_axis(Spec(name), axis)));
  };
  const std::string nm = text(Nm::name), nmg = text(Nmg::name);
  return nm == nmg ? "n:m and n:m:g " + nm : fmt::format("n:m {}, n:m:g {}", nm, nmg);
}

std::vector<Point> points_of(std::optional<Index> axis) {
  struct NofM {
    Index n, m;
  };
  constexpr NofM of[] = {{1, 2}, {2, 4}, {4, 8}, {1, 4}, {2, 8}, {1, 8}, {1, 10}, {1, 20}};
  std::vector<Point> points;
  const auto add = [&](std::string family, std::string structure, Spec sparsifier) {
    points.push_back({std::move(family), std::move(structure), std::move(sparsifier), 0, {}});
  };
  // The sparsities of n:m are included, to compare at equal sparsity.
  for (const double s :
       {0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.875, 0.9, 0.95, 0.975, 0.99})
    add("unstructured", fmt::format("{} %", 100 * s),
        Spec("magnitude").set("sparsity", fmt::to_string(s)));
  for (const auto [n, m] : of)
    add("n:m", fmt::format("{}:{}", n, m),
        own_sparsifier(with_axis(Spec(Nm::name).set("n", n).set("m", m), axis)));
  for (const Index g : {64, 16, 4, 1})
    for (const auto [n, m] : of)
      add(fmt::format("n:m:g, g={}", g), fmt::format("{}:{}:{}", n, m, g),
          own_sparsifier(with_axis(Spec(Nmg::name).set("n", n).set("m", m).set("g", g), axis)));
  // Only tiles that make products faster.
  constexpr Index tiles_in_group = 16;
  for (const Index v : {4, 16, 32})
    for (const auto [n, m] : {NofM{1, 2}, NofM{1, 4}, NofM{1, 8}})
      add(fmt::format("n:m:g, g={}, tiles of {}x{}", tiles_in_group, v, Nmgv::usual_w),
          fmt::format("{}:{}:{}:{}", n, m, tiles_in_group, v),
          own_sparsifier(with_axis(
              Spec(Nmgv::name).set("n", n).set("m", m).set("g", tiles_in_group).set("v", v),
              axis)));
  for (const Index size : {4, 8})
    for (const double s : {0.0, 0.25, 0.5, 0.75, 0.9, 0.95})
      add(fmt::format("blocks {0}x{0}", size), fmt::format("{} %", 100 * s),
          Spec("block-magnitude").set("sparsity", fmt::to_string(s)).set("h", size).set("w", size));
  return points;
}

Chart chart_of(const std::vector<Point>& points, Index elements, const std::string& input,
               std::optional<Index> axis) {
  Chart chart{.title = "Energy kept by pruning",
              .subtitle = fmt::format("{}; {}", input, axes_text(axis))};
  chart.x = {
      .label = "sparsity", .range = std::pair(0.0, 1.0), .numbers = ChartNumberFormat::percent};
  chart.y = {.label = "energy: kept magnitude / all magnitude", .range = std::pair(0.0, 1.0)};
  for (const Point& p : points) {
    if (chart.series.empty() || chart.series.back().name != p.family)
      chart.series.push_back(
          {.name = p.family,
           .line = p.family.starts_with("n:m") ? ChartLine::none : ChartLine::straight,
           .dashed = p.family.starts_with("blocks")});
    chart.series.back().points.push_back(
        {share(p.zeros, elements), energy(p.magnitudes), p.structure});
  }
  for (ChartSeries& s : chart.series)
    std::stable_sort(s.points.begin(), s.points.end(),
                     [](const ChartPoint& a, const ChartPoint& b) { return a.x < b.x; });
  return chart;
}

Index count_both(const std::vector<bool>& a, const std::vector<bool>& b) {
  Index n = 0;
  for (std::size_t i = 0; i < a.size(); ++i) n += a[i] && b[i];
  return n;
}

// Bytes of a dense tensor that are always acceptable.
constexpr std::uint64_t most_beyond = std::uint64_t{256} << 20;

}  // namespace

Outcome sweep_energy(const SweepOptions& o) {
  const Device device = use_device(o.device);
  if (o.axis && *o.axis != 0 && *o.axis != 1) fail_usage("--axis must be 0 or 1, got {}", *o.axis);
  if (!o.plot.empty() && !o.plot.ends_with(".svg"))
    fail_usage("--plot {}: expected an .svg file", quote(o.plot));
  std::optional<OutputFile> plot;
  if (!o.plot.empty()) plot.emplace(o.plot, o.force);
  const Checkpoint in = Checkpoint::open(o.input);
  const Selection selection = select_tensors(in, o.patterns, Purpose::prune);
  if (selection.count == 0)
    fail_usage("{}: none of the {} tensors is a weight by its name (choose with --include)",
               in.name(), in.tensors().size());

  const std::vector<bool> are_in_by_out = in_by_out(in, o.input);
  std::vector<Point> points = points_of(o.axis);
  std::uint64_t bytes = 0;
  Index elements = 0;
  for (std::size_t i = 0; i < selection.chosen.size(); ++i)
    if (selection.chosen[i]) bytes += in.tensors()[i].bytes() * points.size();
  Progress progress("sten-energy", bytes, o.show_progress);
  for (const std::size_t i : in.data_order()) {
    if (!selection.chosen[i]) continue;
    const CheckpointTensor& t = in.tensors()[i];
    // Every point of the sweep reads all elements.
    if (byte_size(t.dtype, t.shape) > 20 * t.bytes() + most_beyond)
      fail("{}: {}: {} of {} elements in {} would be a dense tensor of {} for --sweep", in.name(),
           quote(t.name), t.layout.str(), size_of(t.shape), human_bytes(t.bytes()),
           human_bytes(byte_size(t.dtype, t.shape)));
    const Dense x =
        or_lack_of_memory(in.name(), t.name, [&] { return in.load(t).to_dense().to(device); });
    if (const auto bad = first_not_finite(x))
      fail("{}: {}: element {} is not finite and cannot be ranked", in.name(), quote(t.name), *bad);
    add_to(elements, x.size());
    for (Point& p : points) {
      const MaskedDense kept = or_lack_of_memory(in.name(), t.name, [&] {
        return mask_and_measure(
            x, registry().sparsifier(for_matrix(p.sparsifier, are_in_by_out[i])).select(x));
      });
      p.zeros += kept.zeros;
      p.magnitudes.all += kept.magnitudes.all;
      p.magnitudes.kept += kept.magnitudes.kept;
      progress.add(t.bytes());
    }
    in.drop(t);
  }

  Outcome outcome;
  Report& r = outcome.report;
  r.program = "sten-energy";
  r.item = "structures";
  r.columns = {{"name", "family", Unit::text},
               {"structure", "structure", Unit::text},
               {"spec", "", Unit::text},
               {"sparsity", "sparsity", Unit::fraction},
               {"energy", "energy", Unit::ratio}};
  for (const Point& p : points) {
    std::vector<Cell> row;
    r.at(row, "name") = p.family;
    r.at(row, "structure") = p.structure;
    r.at(row, "spec") = p.sparsifier.str();
    r.at(row, "sparsity") = share(p.zeros, elements);
    r.at(row, "energy") = energy(p.magnitudes);
    r.rows.push_back(std::move(row));
  }
  r.facts = {{"input", in.name()},
             {"axis/nm", *axis_of(with_axis(Spec(Nm::name), o.axis))},
             {"axis/nmg", *axis_of(with_axis(Spec(Nmg::name), o.axis))},
             {"selected", selection.count},
             {"skipped", selection.skipped},
             {"elements", elements}};
  r.notes.push_back(
      fmt::format("{} tensors, each pruned for itself; {}", selection.count, axes_text(o.axis)));
  if (const Index n = o.axis ? 0 : count_both(selection.chosen, are_in_by_out))
    r.notes.push_back(
        fmt::format("the other axis for {} matri{} [in, out]", n, n == 1 ? "x" : "ces"));
  r.add_note(in.part_taken());
  r.charts = {chart_of(points, std::max<Index>(1, elements), in.name(), o.axis)};
  r.add_note(left_alone(selection.why));
  outcome.details = skipped_rows(in, selection.why);
  if (plot) {
    const std::string svg = to_svg(r.charts.front());
    plot->write(std::as_bytes(std::span(svg)));
    plot->commit();
  }
  return outcome;
}

}  // namespace sten
