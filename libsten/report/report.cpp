// SPDX-License-Identifier: Apache-2.0
#include "libsten/report/report.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/core/base/version.h"
#include "libsten/report/report_html.h"

namespace sten {
namespace {

nlohmann::ordered_json json_of(const Cell& cell) {
  return std::visit(
      [](const auto& v) -> nlohmann::ordered_json {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::monostate>)
          return nullptr;
        else
          return v;
      },
      cell);
}

// Also quotes text that other separators would split.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",;\t\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

// Spreadsheets take text that starts like a formula for one, so an apostrophe marks it as text.
// Numbers are unchanged.
std::string csv_cell(const Cell& cell) {
  const std::string text = exact_cell(cell);
  const bool formula = std::holds_alternative<std::string>(cell) && !text.empty() &&
                       std::string_view("=+-@\t\r\n").find(text[0]) != std::string_view::npos;
  return csv_field(formula ? "'" + text : text);
}

// Escapes text for Markdown, without markup, tags, links or further cells.
std::string markdown_text(std::string_view text) {
  const std::string visible = printable(text);
  std::string out;
  for (std::size_t i = 0; i < visible.size(); ++i) {
    const std::string_view rest = std::string_view(visible).substr(i);
    const bool markup = std::string_view("\\`*_{}[]<>|~#!&$^").find(rest[0]) != rest.npos ||
                        rest.starts_with("://") || (i == 0 && (rest[0] == '-' || rest[0] == '+'));
    if (markup) out += '\\';
    if (rest.starts_with("www.")) {
      out += "www\\.";
      i += 3;
    } else {
      out += rest[0];
    }
  }
  return out;
}

}  // namespace

std::string to_json(const Report& r) {
  nlohmann::ordered_json j;
  j["schema"] = 1;
  j["program"] = r.program;
  j["version"] = std::string(version());
  j["ok"] = r.failure.empty();
  if (!r.failure.empty()) j["reason"] = r.failure;
  for (const auto& [key, cell] : r.facts)
    j[nlohmann::ordered_json::json_pointer("/" + key)] = json_of(cell);
  const auto object = [](const Report& of, const std::vector<Cell>& row) {
    nlohmann::ordered_json o;
    for (std::size_t c = 0; c < of.columns.size(); ++c)
      if (of.whole_rows || !std::holds_alternative<std::monostate>(row[c]))
        o[of.columns[c].key] = json_of(row[c]);
    return o;
  };
  j[r.item] = nlohmann::ordered_json::array();
  for (std::size_t k = 0; k < r.rows.size(); ++k) {
    j[r.item].push_back(object(r, r.rows[k]));
    if (r.parts.empty() || r.parts[k].rows.empty()) continue;
    auto& list = j[r.item].back()[r.parts[k].item];
    for (const auto& row : r.parts[k].rows) list.push_back(object(r.parts[k], row));
  }
  if (!r.total.empty()) j["total"] = object(r, r.total);
  if (const auto notes = notes_of(r); !notes.empty()) j["notes"] = notes;
  return j.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string to_csv(const Report& r) {
  std::string out;
  for (std::size_t c = 0; c < r.columns.size(); ++c)
    out += (c ? "," : "") + csv_field(r.columns[c].key);
  out += "\n";
  for (const auto& row : r.rows) {
    for (std::size_t c = 0; c < row.size(); ++c) out += (c ? "," : "") + csv_cell(row[c]);
    out += "\n";
  }
  return out;
}

std::string to_markdown(const Report& r) {
  const Table table = table_of(r);
  std::string out;
  for (std::size_t i = 0; i < table.lines.size(); ++i) {
    const bool bold = i > 0 && i + 1 == table.lines.size() && !r.total.empty();
    out += "|";
    for (const std::string& cell : table.lines[i]) {
      const std::string escaped = markdown_text(cell);
      out += bold && !escaped.empty() ? " **" + escaped + "** |" : " " + escaped + " |";
    }
    out += "\n";
    if (i > 0) continue;
    out += "|";
    for (const Column& c : table.columns) out += c.unit == Unit::text ? "---|" : "---:|";
    out += "\n";
  }
  if (!r.failure.empty()) out += "\n**failed:** " + markdown_text(r.failure) + "\n";
  for (const std::string& note : notes_of(r)) out += "\n" + markdown_text(note) + "\n";
  return out;
}

void check_report_path(const std::string& path) {
  for (const char* ending : {".json", ".csv", ".md", ".html", ".svg"})
    if (path.ends_with(ending)) return;
  fail_usage("--report {}: expected a name that ends in .json, .csv, .md, .html or .svg",
             quote(path));
}

void write_report(const Report& r, const std::string& path, OutputFile& out) {
  check_report_path(path);
  const std::string text = path.ends_with(".json")   ? to_json(r)
                           : path.ends_with(".csv")  ? to_csv(r)
                           : path.ends_with(".html") ? to_html(r)
                           : path.ends_with(".svg")  ? to_svg(main_chart(r))
                                                     : to_markdown(r);
  out.write(std::as_bytes(std::span(text)));
  out.commit();
}

}  // namespace sten
