// SPDX-License-Identifier: Apache-2.0
#include "libsten/report/report_data.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "libsten/core/base/text.h"

namespace sten {

std::string three_digits(double v) {
  if (v == 0 || !std::isfinite(v)) return fmt::format("{:.0f}", v);
  const int before = static_cast<int>(std::floor(std::log10(std::abs(v)))) + 1;
  if (before < -5 || before > 15) return fmt::format("{:.2e}", v);
  return fmt::format("{:.{}f}", v, std::clamp(3 - before, 0, 9));
}

std::string grouped(Index n) {
  std::string out = fmt::to_string(n);
  const std::size_t first = n < 0 ? 1 : 0;
  for (std::size_t at = out.size(); at > first + 3;) out.insert(at -= 3, ",");
  return out;
}

Cell value_at(const Report& r, std::string_view path) {
  for (const auto& [key, cell] : r.facts)
    if (key == path) return cell;
  const auto column = [&](const std::vector<Cell>& row, std::string_view key) -> Cell {
    for (std::size_t c = 0; c < std::min(row.size(), r.columns.size()); ++c)
      if (r.columns[c].key == key) return row[c];
    return {};
  };
  constexpr std::string_view total = "total/";
  if (path.starts_with(total)) return column(r.total, path.substr(total.size()));
  if (!path.starts_with(r.item + "/")) return {};
  path.remove_prefix(r.item.size() + 1);
  std::size_t row = 0;
  const auto [end, error] = std::from_chars(path.data(), path.data() + path.size(), row);
  if (error != std::errc() || row >= r.rows.size()) return {};
  path.remove_prefix(static_cast<std::size_t>(end - path.data()));
  return path.starts_with("/") ? column(r.rows[row], path.substr(1)) : Cell();
}

double number_of(const Cell& cell) {
  if (const auto* n = std::get_if<Index>(&cell)) return static_cast<double>(*n);
  if (const auto* v = std::get_if<double>(&cell)) return *v;
  return std::numeric_limits<double>::quiet_NaN();
}

Cell& Report::at(std::vector<Cell>& row, std::string_view key) const {
  row.resize(columns.size());
  const auto column =
      std::find_if(columns.begin(), columns.end(), [&](const Column& c) { return c.key == key; });
  return row.at(column - columns.begin());
}

std::string shown_cell(const Cell& cell, Unit unit) {
  if (const auto* s = std::get_if<std::string>(&cell)) return printable(*s);
  if (const auto* s = std::get_if<Shape>(&cell)) return fmt::format("{}", fmt::join(*s, "x"));
  if (const auto* n = std::get_if<Index>(&cell))
    return unit == Unit::bytes ? human_bytes(static_cast<std::uint64_t>(*n)) : fmt::to_string(*n);
  const auto* v = std::get_if<double>(&cell);
  if (!v) return "";
  if (unit == Unit::measured) return three_digits(*v);
  if (unit == Unit::seconds)
    return std::abs(*v) >= 1      ? three_digits(*v) + " s"
           : std::abs(*v) >= 1e-3 ? three_digits(1e3 * *v) + " ms"
                                  : three_digits(1e6 * *v) + " \xc2\xb5s";
  return unit == Unit::fraction ? fmt::format("{:.2f} %", 100 * *v) : fmt::format("{:.4f}", *v);
}

std::string exact_cell(const Cell& cell) {
  if (const auto* s = std::get_if<std::string>(&cell)) return *s;
  if (const auto* s = std::get_if<Shape>(&cell)) return fmt::format("{}", fmt::join(*s, "x"));
  if (const auto* n = std::get_if<Index>(&cell)) return fmt::to_string(*n);
  if (const auto* v = std::get_if<double>(&cell)) return fmt::format("{}", *v);
  return "";
}

std::vector<std::size_t> filled_columns(const Report& r) {
  std::vector<std::size_t> out;
  for (std::size_t c = 0; c < r.columns.size(); ++c) {
    if (r.columns[c].detail) continue;
    const auto filled = [&](const std::vector<Cell>& row) {
      return !row.empty() && !std::holds_alternative<std::monostate>(row[c]);
    };
    if (filled(r.total) || std::any_of(r.rows.begin(), r.rows.end(), filled)) out.push_back(c);
  }
  return out;
}

std::vector<std::string> notes_of(const Report& r) {
  std::vector<std::string> notes = r.notes;
  const std::vector<std::size_t> filled = filled_columns(r);
  for (const auto& [key, legend] : r.legends)
    if (std::ranges::any_of(filled,
                            [&, &key = key](std::size_t c) { return r.columns[c].key == key; }))
      notes.push_back(legend);
  return notes;
}

}  // namespace sten
