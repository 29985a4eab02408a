// SPDX-License-Identifier: Apache-2.0
// Key figures of a page, and texts of numbers.
#include <fmt/format.h>

#include <cmath>

#include "libsten/report/page.h"
#include "libsten/report/short_names.h"
#include "libsten/report/svg.h"

namespace sten {
namespace {

constexpr std::size_t longest_text = 500;
constexpr const char* minus = "\xe2\x88\x92";

// "-83.8 %" or, of fractions, "-7.90 points".
std::string change_of(double before, double now, Unit unit) {
  const bool points = unit == Unit::fraction;
  if (!points && before == 0) return "";
  const double change = 100 * (points ? now - before : (now - before) / std::abs(before));
  if (!std::isfinite(change)) return "";
  const std::string size = fmt::format("{:.{}f}", std::abs(change), points ? 2 : 1);
  const bool none = size.find_first_not_of("0.") == size.npos;
  return fmt::format("{}{} {}",
                     none         ? ""
                     : change < 0 ? minus
                                  : "+",
                     size, points ? "points" : "%");
}

std::string change_html(const Report& r, const KeyFigure& f, double now) {
  const Cell before = value_at(r, f.before);
  const double old = number_of(before);
  if (!std::isfinite(old) || !std::isfinite(now)) return "";
  const std::string change = change_of(old, now, f.unit);
  const bool is_same = change.empty() || (change.front() >= '0' && change.front() <= '9');
  const char* style = f.better == Better::neither || is_same       ? "soft"
                      : (now < old) == (f.better == Better::lower) ? "good"
                                                                   : "bad";
  return fmt::format(
      "<dd class=\"change\">before {}{}</dd>", page_value(before, f.unit),
      change.empty() ? "" : fmt::format(" <span class=\"{}\">{}</span>", style, change));
}

}  // namespace

std::string page_text(std::string_view text) {
  return xml_text(short_names({std::string(text)}, longest_text).front());
}

std::string page_value(const Cell& cell, Unit unit) {
  if (const auto* n = std::get_if<Index>(&cell); n && unit != Unit::bytes) return grouped(*n);
  const auto* v = std::get_if<double>(&cell);
  // Three digits have no decimals from 1000.
  if (v && unit == Unit::measured && std::abs(*v) >= 1000 && std::abs(*v) < 1e15)
    return grouped(std::llround(*v));
  return page_text(shown_cell(cell, unit));
}

std::string key_figures_html(const Report& r) {
  std::string out;
  for (const KeyFigure& f : r.figures) {
    const Cell value = value_at(r, f.key);
    if (std::holds_alternative<std::monostate>(value)) continue;
    out += fmt::format("<div><dt>{}</dt><dd class=\"value\">{}</dd>{}</div>\n", page_text(f.title),
                       page_value(value, f.unit), change_html(r, f, number_of(value)));
  }
  return out.empty() ? out : "<dl class=\"figures\">\n" + out + "</dl>\n";
}

}  // namespace sten
