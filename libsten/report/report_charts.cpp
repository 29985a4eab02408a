// SPDX-License-Identifier: Apache-2.0
#include "libsten/report/report_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <numeric>

#include "libsten/report/short_names.h"

namespace sten {
namespace {

constexpr std::size_t most_charted_bars = 60, most_charted_rows = 12;
constexpr double no_value = std::numeric_limits<double>::quiet_NaN();
constexpr int bins = 10;  // of a histogram from 0 to 1
constexpr std::size_t longest_bar_name = 200;

enum class Columns { shares, bytes };

std::vector<std::size_t> columns_with(const Report& r, Columns which) {
  std::vector<std::size_t> out;
  for (const std::size_t c : filled_columns(r)) {
    const Column& column = r.columns[c];
    if (which == Columns::bytes ? column.unit == Unit::bytes
                                : column.key == "sparsity" || column.key == "energy")
      out.push_back(c);
  }
  return out;
}

std::string titles(const Report& r, const std::vector<std::size_t>& columns) {
  std::string text;
  for (const std::size_t c : columns) text += (text.empty() ? "" : " and ") + r.columns[c].title;
  return text;
}

std::string capitalized(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::string name_of_row(const Report& r, std::size_t i) {
  return short_names({exact_cell(r.rows[i][0])}, longest_bar_name)[0];
}

BarChart bars(const Report& r, const std::string& title, const ChartAxis& axis,
              const std::vector<std::size_t>& columns) {
  const std::vector<std::size_t> rows = largest_rows(
      r, std::clamp<std::size_t>(most_charted_bars / columns.size(), 5, most_charted_rows));
  BarChart chart = {.title = title, .axis = axis};
  if (rows.size() < r.rows.size())
    chart.subtitle =
        fmt::format("the {} largest of {} {}", rows.size(), grouped(std::ssize(r.rows)), r.item);
  for (const std::size_t c : columns) chart.series.push_back(r.columns[c].title);
  if (columns.size() == 1) chart.axis.label = r.columns[columns[0]].title;
  for (const std::size_t i : rows) {
    BarChart::Group group = {.name = name_of_row(r, i)};
    for (const std::size_t c : columns) group.values.push_back(number_of(r.rows[i][c]));
    chart.groups.push_back(std::move(group));
  }
  return chart;
}

BarChart histogram(const Report& r, const std::vector<std::size_t>& columns) {
  BarChart chart = {.title = fmt::format("Distribution of {} over {} {}", titles(r, columns),
                                         grouped(std::ssize(r.rows)), r.item),
                    .axis = {.label = r.item}};
  for (const std::size_t c : columns) chart.series.push_back(r.columns[c].title);
  for (int bin = 0; bin < bins; ++bin)
    chart.groups.push_back(
        {.name = fmt::format("{} to {} %", 100 * bin / bins, 100 * (bin + 1) / bins),
         .values = std::vector<double>(columns.size(), no_value)});
  for (const std::vector<Cell>& row : r.rows)
    for (std::size_t k = 0; k < columns.size(); ++k) {
      const double v = number_of(row[columns[k]]);
      if (!std::isfinite(v)) continue;
      const double bin = std::clamp(std::floor(v * bins), 0.0, bins - 1.0);
      double& count = chart.groups[static_cast<std::size_t>(bin)].values[k];
      count = std::isnan(count) ? 1 : count + 1;
    }
  return chart;
}

// Key figures that are fractions, for reports of measurements.
BarChart fractions(const Report& r) {
  BarChart chart = {.axis = {.range = {{0, 1}}, .numbers = ChartNumberFormat::percent}};
  for (const KeyFigure& f : r.figures)
    if (const double v = number_of(value_at(r, f.key));
        f.unit == Unit::fraction && std::isfinite(v))
      chart.groups.push_back({f.title, {v}});
  return chart;
}

}  // namespace

std::vector<std::size_t> largest_rows(const Report& r, std::size_t count) {
  const std::vector<std::size_t> sizes = columns_with(r, Columns::bytes);
  std::vector<double> size(r.rows.size());
  for (std::size_t i = 0; i < size.size(); ++i)
    for (const std::size_t c : sizes) size[i] = std::max(size[i], number_of(r.rows[i][c]));
  std::vector<std::size_t> order(size.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return size[a] > size[b]; });
  order.resize(std::min(order.size(), count));
  std::sort(order.begin(), order.end());
  return order;
}

BarChart largest_values_chart(const Report& r, std::string_view key, const std::string& title) {
  const auto column = std::ranges::find(r.columns, key, &Column::key);
  const auto c = static_cast<std::size_t>(column - r.columns.begin());
  const auto value = [&](std::size_t i) {
    const double v = number_of(r.rows[i][c]);
    return std::isfinite(v) ? v : -std::numeric_limits<double>::infinity();
  };
  std::vector<std::size_t> order(r.rows.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return value(a) > value(b); });
  order.resize(std::min(order.size(), most_charted_rows));
  std::ranges::sort(order);
  BarChart chart = {.title = title,
                    .axis = {.label = column->title,
                             .numbers = column->unit == Unit::fraction ? ChartNumberFormat::percent
                                        : column->unit == Unit::bytes  ? ChartNumberFormat::bytes
                                                                       : ChartNumberFormat::plain}};
  if (order.size() < r.rows.size())
    chart.subtitle =
        fmt::format("the {} largest of {} {}", order.size(), grouped(std::ssize(r.rows)), r.item);
  for (const std::size_t i : order)
    chart.groups.push_back({name_of_row(r, i), {number_of(r.rows[i][c])}});
  return chart;
}

std::vector<AnyChart> charts_of(const Report& r) {
  std::vector<AnyChart> charts = r.charts;
  if (r.total.empty()) {
    if (!charts.empty()) return charts;
    if (BarChart chart = fractions(r); !chart.groups.empty()) charts.emplace_back(std::move(chart));
    return charts;
  }
  const std::vector<std::size_t> shares = columns_with(r, Columns::shares);
  const std::vector<std::size_t> bytes = columns_with(r, Columns::bytes);
  if (!bytes.empty())
    charts.emplace_back(bars(r, "Size", {.numbers = ChartNumberFormat::bytes}, bytes));
  if (shares.empty()) return charts;
  AnyChart chart = bars(r, capitalized(titles(r, shares)),
                        {.range = {{0, 1}}, .numbers = ChartNumberFormat::percent}, shares);
  // Where there is energy, it is the result; otherwise the bytes are.
  const bool has_energy =
      std::ranges::any_of(shares, [&](std::size_t c) { return r.columns[c].key == "energy"; });
  charts.insert(has_energy && !bytes.empty() ? charts.end() - 1 : charts.end(), std::move(chart));
  if (r.rows.size() > most_charted_rows) charts.emplace_back(histogram(r, shares));
  return charts;
}

AnyChart main_chart(const Report& r) {
  std::vector<AnyChart> charts = charts_of(r);
  return charts.empty() ? AnyChart(BarChart{.title = r.program}) : std::move(charts.front());
}

}  // namespace sten
