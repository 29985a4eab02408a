// SPDX-License-Identifier: Apache-2.0
// The table of a page.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <numeric>

#include "libsten/report/page.h"
#include "libsten/report/report_charts.h"
#include "libsten/report/short_names.h"
#include "libsten/report/svg.h"

namespace sten {
namespace {

using Row = std::vector<Cell>;

// Longer names are shown without what all names share.
constexpr std::size_t longest_whole_name = 32;
constexpr std::size_t shortest_wrapped = 16;  // longer names may be broken between lines
// Limits of a table, so that a page stays below 2 MB.
constexpr std::size_t most_table_rows = 1000, most_bytes = 1'200'000;

struct ByteUnit {
  double factor;
  const char* name;
};

ByteUnit byte_unit(double largest) {
  static constexpr ByteUnit units[] = {
      {1e15, "PB"}, {1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}};
  for (const ByteUnit& u : units)
    if (largest >= u.factor) return u;
  return {1, "B"};
}

// Breaks lines after separators of names.
std::string with_breaks(const std::string& html) {
  std::string out;
  for (const char letter : html) {
    out += letter;
    if (letter == '.' || letter == '/') out += "<wbr/>";
  }
  return out;
}

class TableHtml {
 public:
  explicit TableHtml(const Report& r)
      : r_(r), columns_(filled_columns(r)), chosen_(largest_rows(r, most_table_rows)) {
    for (const std::size_t c : columns_) units_.push_back(unit_of(c));
    std::vector<std::string> names;
    for (const std::size_t i : chosen_)
      if (!columns_.empty()) names.push_back(exact_cell(r.rows[i][columns_[0]]));
    if (!columns_.empty() && r.columns[columns_[0]].unit == Unit::text) ends_ = shared_ends(names);
    const auto is_long = [](const std::string& name) {
      return columns_of(name) > longest_whole_name;
    };
    if (std::ranges::none_of(names, is_long)) ends_ = {};
    wraps_ = std::ranges::any_of(
        names, [](const std::string& name) { return columns_of(name) > shortest_wrapped; });
  }

  std::string html() {
    if (columns_.empty()) return "";
    std::string rows;
    std::size_t count = 0;
    for (; count < chosen_.size() && rows.size() < most_bytes; ++count)
      rows += row_html(r_.rows[chosen_[count]], true);
    std::string heading = r_.item;
    heading[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(heading[0])));
    const std::string title = page_text(heading);
    std::string out = fmt::format(
        "<h2>{} <span class=\"soft\">{}</span></h2>\n{}<div class=\"scroll\" role=\"region\" "
        "aria-label=\"{}\" tabindex=\"0\">\n<table>\n<thead><tr>",
        title, grouped(std::ssize(r_.rows)), remarks(count), title);
    for (std::size_t k = 0; k < columns_.size(); ++k)
      out += fmt::format("<th scope=\"col\"{}>{}</th>", cell_class(columns_[k]), title_of(k));
    out += "</tr></thead>\n<tbody>\n" + rows + "</tbody>\n";
    if (!r_.total.empty()) out += "<tfoot>\n" + row_html(r_.total, false) + "</tfoot>\n";
    return out + "</table>\n</div>\n";
  }

 private:
  // The unit of a column of bytes; others have factor 0.
  ByteUnit unit_of(std::size_t c) const {
    if (r_.columns[c].unit != Unit::bytes) return {0, ""};
    double largest = r_.total.empty() ? 0 : std::fmax(0, number_of(r_.total[c]));
    for (const Row& row : r_.rows) largest = std::fmax(largest, number_of(row[c]));
    return byte_unit(largest);
  }

  std::string title_of(std::size_t k) const {
    const Column& column = r_.columns[columns_[k]];
    if (column.unit == Unit::bytes)
      return fmt::format("{} ({})", page_text(column.title), units_[k].name);
    if (column.unit == Unit::fraction) return page_text(column.title) + " (%)";
    return page_text(column.title);
  }

  // The left out rows, and the shared ends of the names.
  std::string remarks(std::size_t count) const {
    std::string out;
    if (count < r_.rows.size())
      out += fmt::format(
          "The {} largest of {} {}; {} are left out here. --report FILE.csv and "
          "FILE.json have all.",
          grouped(static_cast<Index>(count)), grouped(std::ssize(r_.rows)), page_text(r_.item),
          grouped(static_cast<Index>(r_.rows.size() - count)));
    const auto shortened = [&](const char* where, const std::string& what) {
      if (!what.empty())
        out += fmt::format("{}{} \xe2\x80\xa6 stands for <code>{}</code>.", out.empty() ? "" : " ",
                           where, page_text(what));
    };
    shortened("In front of a name,", ends_.prefix);
    shortened("After a name,", ends_.suffix);
    return out.empty() ? out : "<p class=\"soft\">" + out + "</p>\n";
  }

  std::string cell_class(std::size_t c) const {
    if (r_.columns[c].unit != Unit::text) return " class=\"num\"";
    return (c == columns_[0] && wraps_) || r_.columns[c].key == "error" ? " class=\"name\"" : "";
  }

  std::string text_of(const Cell& cell, std::size_t k) const {
    const Unit unit = r_.columns[columns_[k]].unit;
    const auto* n = std::get_if<Index>(&cell);
    const auto* v = std::get_if<double>(&cell);
    if (n && unit == Unit::bytes) return three_digits(static_cast<double>(*n) / units_[k].factor);
    if (v && unit == Unit::fraction) return fmt::format("{:.2f}", 100 * *v);
    return page_value(cell, unit);
  }

  // The name without the ends that all names share, with the whole name for readers and sorting.
  std::string name_html(const std::string& name, bool is_shortened) const {
    if (!is_shortened || (ends_.prefix.empty() && ends_.suffix.empty()))
      return fmt::format("<th scope=\"row\"{}>{}</th>", cell_class(columns_[0]),
                         with_breaks(page_text(name)));
    return fmt::format(
        "<th scope=\"row\" class=\"name\" title=\"{0}\" aria-label=\"{0}\" data-v=\"{0}\">{1}</th>",
        page_text(name), with_breaks(page_text(without(ends_, name))));
  }

  std::string row_html(const Row& row, bool is_shortened) const {
    std::string out = "<tr>";
    for (std::size_t k = 0; k < columns_.size(); ++k) {
      const std::size_t c = columns_[k];
      const Cell& cell = row[c];
      if (k == 0 && r_.columns[c].unit == Unit::text) {
        out += name_html(exact_cell(cell), is_shortened);
        continue;
      }
      const std::string shown = text_of(cell, k), exact = xml_text(exact_cell(cell));
      out += (k == 0 ? "<th scope=\"row\"" : "<td") + cell_class(c);
      // The sort key: the number of elements for shapes.
      if (const auto* shape = std::get_if<Shape>(&cell))
        out += fmt::format(" data-v=\"{}\"",
                           std::accumulate(shape->begin(), shape->end(), 1.0, std::multiplies<>()));
      else if (r_.columns[c].unit != Unit::text && exact != shown)
        out += fmt::format(" data-v=\"{}\"", exact);
      out += ">" + shown + (k == 0 ? "</th>" : "</td>");
    }
    return out + "</tr>\n";
  }

  const Report& r_;
  const std::vector<std::size_t> columns_;
  const std::vector<std::size_t> chosen_;  // rows
  std::vector<ByteUnit> units_;            // of columns_
  bool wraps_ = false;                     // names
  SharedEnds ends_;                        // of the names
};

}  // namespace

std::string table_html(const Report& r) { return TableHtml(r).html(); }

}  // namespace sten
