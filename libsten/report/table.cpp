// SPDX-License-Identifier: Apache-2.0
#include "libsten/report/table.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "libsten/core/base/text.h"
#include "libsten/report/short_names.h"

namespace sten {
namespace {

constexpr std::size_t column_gap = 2, least_text = 8;

std::vector<std::size_t> widths_of(const Table& t) {
  std::vector<std::size_t> width(t.columns.size());
  for (const auto& line : t.lines)
    for (std::size_t c = 0; c < width.size(); ++c)
      width[c] = std::max(width[c], columns_of(line[c]));
  return width;
}

std::size_t sum(const std::vector<std::size_t>& widths) {
  std::size_t all = widths.empty() ? 0 : column_gap * (widths.size() - 1);
  for (const std::size_t w : widths) all += w;
  return all;
}

bool is_text(const Column& c) { return c.unit == Unit::text; }

}  // namespace

Table table_of(const Report& r) {
  Table out;
  const std::vector<std::size_t> filled = filled_columns(r);
  const auto add_row = [&](const std::vector<Cell>& row) {
    std::vector<std::string>& line = out.lines.emplace_back();
    for (const std::size_t c : filled) line.push_back(shown_cell(row[c], r.columns[c].unit));
  };
  out.lines.emplace_back();
  for (const std::size_t c : filled) {
    out.columns.push_back(r.columns[c]);
    out.lines[0].push_back(r.columns[c].title);
  }
  for (const auto& row : r.rows) add_row(row);
  if (!r.total.empty()) add_row(r.total);
  out.has_total = !r.total.empty();
  return out;
}

std::vector<std::string> fit_to(Table& table, const std::vector<std::string>& optional_columns,
                                std::size_t width) {
  std::vector<std::string> gone;
  std::vector<std::size_t> widths = widths_of(table);
  // The minimum width, with half of it for names.
  const auto least = [&] {
    if (widths.empty() || !is_text(table.columns[0])) return sum(widths);
    return sum(widths) - widths[0] + std::min(widths[0], width / 2);
  };
  for (const std::string& key : optional_columns) {
    if (least() <= width) break;
    const auto at = std::ranges::find(table.columns, key, &Column::key) - table.columns.begin();
    if (at == std::ssize(table.columns)) continue;
    gone.push_back(table.columns[at].title);
    table.columns.erase(table.columns.begin() + at);
    widths.erase(widths.begin() + at);
    for (auto& line : table.lines) line.erase(line.begin() + at);
  }
  while (sum(widths) > width) {
    std::size_t longest = widths.size();
    for (std::size_t c = 0; c < widths.size(); ++c)
      if (is_text(table.columns[c]) && widths[c] > least_text &&
          (longest == widths.size() || widths[c] > widths[longest]))
        longest = c;
    if (longest == widths.size()) break;
    --widths[longest];
  }
  if (!widths.empty() && is_text(table.columns[0])) {
    const std::size_t rows = table.lines.size() - 1 - table.has_total;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < rows; ++i) names.push_back(table.lines[1 + i][0]);
    names = short_names(names, widths[0]);
    for (std::size_t i = 0; i < rows; ++i) table.lines[1 + i][0] = names[i];
  }
  for (auto& line : table.lines)
    for (std::size_t c = 0; c < widths.size(); ++c)
      line[c] = short_names({line[c]}, widths[c]).front();
  return gone;
}

std::string to_text(const Report& r, std::size_t terminal) {
  Table table = table_of(r);
  std::vector<std::string> gone;
  if (terminal) gone = fit_to(table, r.optional_columns, terminal);
  const std::vector<std::size_t> width = widths_of(table);
  std::string out;
  const auto add_line = [&](const std::vector<std::string>& line) {
    std::string text;
    for (std::size_t c = 0; c < line.size(); ++c) {
      const std::string blanks(width[c] - columns_of(line[c]), ' ');
      text += (c ? "  " : "") + (is_text(table.columns[c]) ? line[c] + blanks : blanks + line[c]);
    }
    while (text.ends_with(' ')) text.pop_back();
    out += text + "\n";
  };
  std::string rule;
  for (std::size_t c = 0; c < width.size(); ++c)
    rule += (c ? "  " : "") + std::string(width[c], '-');
  for (std::size_t i = 0; i < table.lines.size() && !width.empty(); ++i) {
    const bool total = i + 1 == table.lines.size() && i > 1 && !r.total.empty();
    if (i == 1 || total) out += rule + "\n";
    add_line(table.lines[i]);
  }
  if (!gone.empty())
    out += fmt::format("columns left out at this width: {}\n", fmt::join(gone, ", "));
  for (const std::string& note : notes_of(r)) out += printable(note) + "\n";
  return out;
}

}  // namespace sten
