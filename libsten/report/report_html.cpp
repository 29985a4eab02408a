// SPDX-License-Identifier: Apache-2.0
#include "libsten/report/report_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <numeric>

#include "libsten/core/base/version.h"
#include "libsten/report/svg.h"
#include "libsten/report/svg_chart.h"

namespace sten {
namespace {

constexpr const char* css = R"(
:root{color-scheme:light dark;--text:#1f2328;--soft:#59636e;--back:#f6f8fa;--card:#fff;--line:#d1d9e0;
--head:#eef1f4;--hover:#f0f6ff;--accent:#0060a8}
@media (prefers-color-scheme:dark){:root{--text:#f0f3f6;--soft:#a8b1bb;--back:#0b0e13;--card:#14181f;
--line:#2f3742;--head:#1d232c;--hover:#1a2533;--accent:#6cb6ff}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--text);font:15px/1.5 system-ui,-apple-system,
'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}
main{max-width:1280px;margin:0 auto;padding:28px 20px 60px}
h1{font-size:24px;line-height:1.25;margin:0;overflow-wrap:anywhere}
h2{font-size:17px;margin:34px 0 10px}
.soft{color:var(--soft)}
code{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(140px,1fr));gap:12px;margin:22px 0 0}
.card,.chart,.scroll,.facts{background:var(--card);border:1px solid var(--line);border-radius:8px}
.card{padding:10px 14px}
.card b{display:block;font-size:21px;line-height:1.3;font-weight:600;font-variant-numeric:tabular-nums}
.facts{display:grid;grid-template-columns:max-content 1fr;gap:4px 22px;margin:0;padding:14px 16px}
.facts dt{color:var(--soft)}
.facts dd{margin:0;overflow-wrap:anywhere}
.notes{margin:0;padding-left:20px;max-height:26em;overflow:auto}
.notes li{overflow-wrap:anywhere}
.chart{overflow-x:auto;padding:6px;margin:0 0 16px}
.chart>svg{display:block;max-width:100%;min-width:680px;height:auto;margin:0 auto}
.scroll{overflow:auto;max-height:85vh}
table{border-collapse:separate;border-spacing:0;width:100%;font-size:13px;
font-variant-numeric:tabular-nums}
th,td{padding:6px 12px;text-align:left;border-bottom:1px solid var(--line);white-space:nowrap}
.name{white-space:normal;overflow-wrap:anywhere;min-width:26ch}
.num{text-align:right}
thead th{position:sticky;top:0;background:var(--head);z-index:1}
tfoot td{position:sticky;bottom:0;background:var(--head);font-weight:600;border-bottom:0;
border-top:1px solid var(--line)}
tbody tr:last-child td{border-bottom:0}
tbody tr:hover td{background:var(--hover)}
th[tabindex]{cursor:pointer}
th[tabindex]:hover{color:var(--accent)}
th[tabindex]:focus-visible{outline:2px solid var(--accent);outline-offset:-3px}
th[aria-sort=ascending]::after{content:' \2191'}
th[aria-sort=descending]::after{content:' \2193'}
@media (max-width:640px){main{padding:18px 12px 40px}h1{font-size:20px}
.facts{grid-template-columns:1fr;gap:0}.facts dd{margin-bottom:8px}
.cards{grid-template-columns:repeat(2,1fr)}th,td{padding:6px 8px}}
@media print{:root{--text:#000;--soft:#444;--back:#fff;--card:#fff;--line:#bbb;--head:#eee}
main{max-width:none;padding:0}.scroll,.notes{max-height:none;overflow:visible;border:0}
.chart{overflow:visible;break-inside:avoid}.chart>svg{min-width:0}thead th,tfoot td{position:static}
tfoot{display:table-row-group}h2{break-after:avoid}tr,.card,.facts{break-inside:avoid}table{font-size:10px}th,td{padding:3px 5px}}
)";

// Numbers sort in descending order first; a second click reverses the order.
constexpr const char* script = R"(
for (const table of document.querySelectorAll('table')) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    head.tabIndex = 0;
    head.title = 'Sort';
    const number = head.classList.contains('num');
    const key = row => row.cells[column].dataset.v ?? row.cells[column].textContent;
    head.onkeydown = event => event.key === 'Enter' ? head.onclick() : undefined;
    head.onclick = () => {
      const before = head.getAttribute('aria-sort');
      const up = before ? before === 'descending' : !number;
      for (const h of head.parentNode.cells) h.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      const rows = [...body.rows].sort((a, b) => {
        const x = key(a), y = key(b);
        const empty = number ? (x === '') - (y === '') : 0;
        if (empty) return empty;
        const order = number ? x - y : x.localeCompare(y, 'en', {numeric: true});
        return up ? order : -order;
      });
      body.append(...rows);
    };
  });
}
)";

using Row = std::vector<Cell>;

double number_of(const Cell& cell) {
  if (const auto* n = std::get_if<Index>(&cell)) return static_cast<double>(*n);
  if (const auto* v = std::get_if<double>(&cell)) return *v;
  return std::numeric_limits<double>::quiet_NaN();
}

class Page {
 public:
  explicit Page(const Report& r) : r_(r), columns_(filled_columns(r)) {}

  std::string html() {
    const std::string input = input_name();
    const std::string title = r_.program + (input.empty() ? "" : ": " + input);
    out_ = fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
        "style-src 'unsafe-inline'; script-src 'unsafe-inline'\"/>\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
        "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n<header>\n"
        "<h1>{}</h1>\n<div class=\"soft\">{} {}</div>\n</header>\n",
        xml_text(title), css, xml_text(input.empty() ? r_.program : input), xml_text(r_.program),
        version());
    if (!r_.failure.empty()) out_ += "<p><b>failed:</b> " + xml_text(r_.failure) + "</p>\n";
    add_cards();
    add_notes();
    add_facts();
    add_charts();
    add_table();
    out_ += fmt::format("</main>\n<script>{}</script>\n</body>\n</html>\n", script);
    return std::move(out_);
  }

 private:
  std::string input_name() const {
    for (const auto& [key, cell] : r_.facts)
      if (key == "input") return exact_cell(cell);
    return "";
  }

  void add_cards() {
    const auto card = [&](std::string_view name, std::string_view value) {
      out_ += fmt::format("<div class=\"card\"><span class=\"soft\">{}</span><b>{}</b></div>\n",
                          xml_text(name), xml_text(value));
    };
    out_ += "<div class=\"cards\">\n";
    card(r_.item, fmt::to_string(r_.rows.size()));
    if (!r_.total.empty())
      for (const std::size_t c : columns_) {
        const std::string value = shown_cell(r_.total[c], r_.columns[c].unit);
        if (c > 0 && !value.empty()) card(r_.columns[c].title, value);
      }
    out_ += "</div>\n";
  }

  void add_notes() {
    const std::vector<std::string> notes = notes_of(r_);
    if (notes.empty()) return;
    out_ += "<h2>Notes</h2>\n<ul class=\"notes\">\n";
    for (const std::string& note : notes) out_ += "<li>" + xml_text(note) + "</li>\n";
    out_ += "</ul>\n";
  }

  void add_facts() {
    out_ += "<h2>The run</h2>\n<dl class=\"facts\">\n";
    const auto fact = [&](std::string_view key, const std::string& value) {
      out_ += fmt::format("<dt>{}</dt><dd>{}</dd>\n", xml_text(key), value);
    };
    fact("program", xml_text(fmt::format("{} {}", r_.program, version())));
    if (!r_.options.empty()) fact("options", "<code>" + xml_text(r_.options) + "</code>");
    for (const auto& [key, cell] : r_.facts) {
      std::string name = key;
      std::replace(name.begin(), name.end(), '_', ' ');
      const auto has = [&, &key = key](const char* word) { return key.find(word) != key.npos; };
      std::string text = exact_cell(cell);
      if (std::holds_alternative<Index>(cell) && has("bytes"))
        text = shown_cell(cell, Unit::bytes) + " (" + text + ")";
      else if (std::holds_alternative<double>(cell))
        text = shown_cell(cell, has("sparsity") ? Unit::fraction : Unit::measured) +
               (has("seconds") ? " s" : "");
      fact(name, xml_text(text));
    }
    out_ += "</dl>\n";
  }

  // The columns among `keys`, or all columns of bytes.
  std::vector<std::size_t> charted(bool bytes) const {
    std::vector<std::size_t> out;
    for (const std::size_t c : columns_) {
      const Column& column = r_.columns[c];
      if (bytes ? column.unit == Unit::bytes : column.key == "sparsity" || column.key == "energy")
        out.push_back(c);
    }
    return out;
  }

  // The `count` rows with the most bytes, in the table's order.
  std::vector<const Row*> largest(std::size_t count) const {
    const std::vector<std::size_t> sizes = charted(true);
    std::vector<double> size(r_.rows.size());
    for (std::size_t i = 0; i < size.size(); ++i)
      for (const std::size_t c : sizes) size[i] = std::max(size[i], number_of(r_.rows[i][c]));
    std::vector<std::size_t> order(size.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return size[a] > size[b]; });
    order.resize(std::min(order.size(), count));
    std::sort(order.begin(), order.end());
    std::vector<const Row*> out;
    for (const std::size_t i : order) out.push_back(&r_.rows[i]);
    return out;
  }

  void add_chart(const std::string& title, const ChartAxis& axis,
                 const std::vector<std::size_t>& columns) {
    if (columns.empty()) return;
    const std::vector<const Row*> rows =
        largest(std::clamp<std::size_t>(60 / columns.size(), 5, 20));
    BarChart chart = {.title = title, .axis = axis};
    if (rows.size() < r_.rows.size())
      chart.subtitle = fmt::format("the {} largest of {} {}", rows.size(), r_.rows.size(), r_.item);
    for (const std::size_t c : columns) chart.series.push_back(r_.columns[c].title);
    if (columns.size() == 1) chart.axis.label = r_.columns[columns[0]].title;
    for (const Row* row : rows) {
      BarChart::Group group = {.name = exact_cell((*row)[0])};
      for (const std::size_t c : columns) group.values.push_back(number_of((*row)[c]));
      chart.groups.push_back(std::move(group));
    }
    out_ += "<div class=\"chart\">\n" + to_svg(chart) + "</div>\n";
  }

  void add_charts() {
    out_ += "<h2>Charts</h2>\n";
    if (!r_.chart.empty()) out_ += "<div class=\"chart\">\n" + r_.chart + "</div>\n";
    // Reports without a total are measurements, which their chart shows.
    if (!r_.chart.empty() && r_.total.empty()) return;
    const std::vector<std::size_t> shares = charted(false);
    std::string title;
    for (const std::size_t c : shares)
      title += (title.empty() ? "" : " and ") + r_.columns[c].title;
    if (!title.empty()) title[0] = static_cast<char>(std::toupper(title[0]));
    add_chart(title, {.range = {{0, 1}}, .numbers = ChartNumberFormat::percent}, shares);
    add_chart("Bytes", {.numbers = ChartNumberFormat::bytes}, charted(true));
  }

  void add_cell(const Row& row, std::size_t c) {
    const Unit unit = r_.columns[c].unit;
    const std::string shown = shown_cell(row[c], unit), exact = exact_cell(row[c]);
    out_ += "<td" + cell_class(c);
    // The sort key: the number of elements for shapes.
    if (const auto* shape = std::get_if<Shape>(&row[c]))
      out_ += fmt::format(" data-v=\"{}\"",
                          std::accumulate(shape->begin(), shape->end(), 1.0, std::multiplies<>()));
    else if (unit != Unit::text && exact != shown)
      out_ += fmt::format(" data-v=\"{}\"", xml_text(exact));
    out_ += ">";
    for (const char letter : xml_text(shown)) {
      out_ += letter;
      if (c == 0 && (letter == '.' || letter == '/')) out_ += "<wbr/>";  // allows a line break
    }
    out_ += "</td>";
  }

  std::string cell_class(std::size_t c) const {
    if (r_.columns[c].unit != Unit::text) return " class=\"num\"";
    return c == 0 || r_.columns[c].key == "error" ? " class=\"name\"" : "";
  }

  void add_row(const Row& row) {
    out_ += "<tr>";
    for (const std::size_t c : columns_) add_cell(row, c);
    out_ += "</tr>\n";
  }

  void add_table() {
    if (columns_.empty()) return;
    std::string heading = r_.item;
    heading[0] = static_cast<char>(std::toupper(heading[0]));
    out_ += "<h2>" + xml_text(heading) + "</h2>\n<div class=\"scroll\" tabindex=\"0\">\n<table>\n";
    out_ += "<thead><tr>";
    for (const std::size_t c : columns_)
      out_ +=
          fmt::format("<th scope=\"col\"{}>{}</th>", cell_class(c), xml_text(r_.columns[c].title));
    out_ += "</tr></thead>\n<tbody>\n";
    for (const Row& row : r_.rows) add_row(row);
    out_ += "</tbody>\n";
    if (!r_.total.empty()) {
      out_ += "<tfoot>\n";
      add_row(r_.total);
      out_ += "</tfoot>\n";
    }
    out_ += "</table>\n</div>\n";
  }

  const Report& r_;
  const std::vector<std::size_t> columns_;
  std::string out_;
};

}  // namespace

std::string to_html(const Report& r) { return Page(r).html(); }

}  // namespace sten
