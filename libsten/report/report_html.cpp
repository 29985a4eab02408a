// SPDX-License-Identifier: Apache-2.0
#include "libsten/report/report_html.h"

#include <fmt/format.h>

#include <algorithm>

#include "libsten/core/base/version.h"
#include "libsten/report/page.h"
#include "libsten/report/report_charts.h"
#include "libsten/report/svg.h"
#include "libsten/report/svg_chart.h"

namespace sten {
namespace {

constexpr std::size_t most_notes = 200, most_facts = 200;

struct PageChart {
  const char* style;  // shown on screens of this class (page_style)
  double width;
};
constexpr PageChart page_charts[] = {{"wide", 1030}, {"medium", 700}, {"narrow", 350}};

// The name of what the program ran on.
std::string name_of_input(const Report& r) {
  for (const char* key : {"input", "recipe", "model", "a"})
    if (const Cell cell = value_at(r, key); !std::holds_alternative<std::monostate>(cell))
      return exact_cell(cell);
  return "";
}

std::string chart_html(const AnyChart& chart) {
  std::string out = "<figure class=\"chart\">\n";
  for (const PageChart& c : page_charts)
    out += fmt::format("<div class=\"{}\">{}</div>\n", c.style,
                       to_svg(chart, {.width = c.width, .has_style = false}));
  return out + "</figure>\n";
}

std::string notes_html(const Report& r) {
  const std::vector<std::string> notes = notes_of(r);
  if (notes.empty()) return "";
  std::string out = "<h2>Notes</h2>\n<ul class=\"notes\">\n";
  for (std::size_t i = 0; i < std::min(notes.size(), most_notes); ++i)
    out += "<li>" + page_text(notes[i]) + "</li>\n";
  if (notes.size() > most_notes)
    out +=
        fmt::format("<li>{} more notes: see --report FILE.json</li>\n", notes.size() - most_notes);
  return out + "</ul>\n";
}

// The text of a fact, whose unit its key tells.
std::string fact_text(const std::string& key, const Cell& cell) {
  const auto has = [&](const char* word) { return key.find(word) != key.npos; };
  if (const auto* n = std::get_if<Index>(&cell);
      n && (has("bytes") || (key.starts_with("memory/") && *n >= 1000)))
    return fmt::format("{} ({} bytes)", page_value(cell, Unit::bytes), grouped(*n));
  if (std::holds_alternative<std::string>(cell)) return page_text(exact_cell(cell));
  return page_value(cell, has("sparsity") || has("accuracy") || has("agreement") ? Unit::fraction
                          : has("seconds") || has("latency/")                    ? Unit::seconds
                                                                                 : Unit::measured);
}

std::string facts_html(const Report& r) {
  std::string out = "<h2>Run</h2>\n<dl class=\"facts\">\n";
  const auto add = [&](std::string_view key, const std::string& html) {
    out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", page_text(key), html);
  };
  add("program", page_text(fmt::format("{} {}", r.program, version())));
  if (!r.options.empty()) add("options", "<code>" + xml_text(r.options) + "</code>");
  for (std::size_t i = 0; i < std::min(r.facts.size(), most_facts); ++i) {
    const auto& [key, cell] = r.facts[i];
    std::string name;
    for (const char letter : key)
      name += letter == '_' ? " " : letter == '/' ? ", " : std::string(1, letter);
    add(name, fact_text(key, cell));
  }
  if (r.facts.size() > most_facts)
    add("more", fmt::format("{} more values: see --report FILE.json", r.facts.size() - most_facts));
  return out + "</dl>\n";
}

}  // namespace

std::string to_html(const Report& r) {
  const std::string input = name_of_input(r);
  const std::string title = r.program + (input.empty() ? "" : ": " + input);
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<title>{}</title>\n<style>{}{}</style>\n</head>\n<body>\n<main>\n<header>\n"
      "<p class=\"soft\">{}</p>\n<h1>{}</h1>\n</header>\n",
      page_text(title), page_style, chart_style(),
      input.empty() ? fmt::format("version {}", version())
                    : page_text(fmt::format("{} {}", r.program, version())),
      page_text(input.empty() ? r.program : input));
  if (!r.failure.empty())
    out += "<p class=\"failed\"><b>Failed:</b> " + page_text(r.failure) + "</p>\n";
  out += key_figures_html(r);
  for (const AnyChart& chart : charts_of(r)) out += chart_html(chart);
  out += table_html(r) + notes_html(r) + facts_html(r);
  return out + fmt::format("</main>\n<script>{}</script>\n</body>\n</html>\n", page_script);
}

}  // namespace sten
