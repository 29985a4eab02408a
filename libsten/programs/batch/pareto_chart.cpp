// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/batch/pareto_chart.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "libsten/report/chart_points.h"
#include "libsten/report/short_names.h"

namespace sten {
namespace {

constexpr std::size_t most_series = 8, longest_name = 200;

std::size_t column_of(const Report& r, std::string_view key) {
  return static_cast<std::size_t>(std::ranges::find(r.columns, key, &Column::key) -
                                  r.columns.begin());
}

}  // namespace

Chart pareto_chart(const Report& r) {
  std::size_t bytes = column_of(r, "bytes_after");
  if (bytes == r.columns.size()) bytes = column_of(r, "bytes");
  const std::size_t energy = column_of(r, "energy");
  Chart chart = {.title = "Energy by size",
                 .x = {.label = "size of the tensors", .numbers = ChartNumberFormat::bytes},
                 .y = {.label = "energy"}};
  std::vector<ChartPoint> points;
  for (const std::vector<Cell>& row : r.rows) {
    if (std::max(bytes, energy) >= row.size()) continue;
    const double x = number_of(row[bytes]), y = number_of(row[energy]);
    if (std::isfinite(x) && std::isfinite(y))
      points.push_back({x, y, short_names({exact_cell(row[0])}, longest_name)[0]});
  }
  if (points.size() < 2) return chart;
  const std::vector<std::size_t> front = pareto_front(points);
  chart.subtitle =
      fmt::format("{} of {} inputs are on the Pareto front", front.size(), points.size());
  // A series for each of few models, which the legend names.
  if (points.size() < most_series)
    for (const ChartPoint& p : points)
      chart.series.push_back({.name = p.label, .points = {{p.x, p.y}}, .line = ChartLine::none});
  else
    chart.series.push_back({.name = "inputs", .points = points, .line = ChartLine::none});
  ChartSeries line = {
      .name = "Pareto front", .line = ChartLine::steps, .markers = false, .dashed = true};
  for (const std::size_t i : front) line.points.push_back({points[i].x, points[i].y});
  if (front.size() > 1) chart.series.push_back(std::move(line));
  return chart;
}

}  // namespace sten
