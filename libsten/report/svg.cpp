// SPDX-License-Identifier: Apache-2.0
#include "libsten/report/svg.h"

#include "libsten/report/short_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "libsten/core/base/text.h"

namespace sten {
namespace {

constexpr const char* ellipsis = "\xe2\x80\xa6";

std::vector<std::string_view> code_points(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t i = 0, start = 0; i < text.size(); start = i) {
    do ++i;
    while (i < text.size() && (text[i] & 0xc0) == 0x80);
    out.push_back(text.substr(start, i - start));
  }
  return out;
}

// Relative to the font size; measured for DejaVu Sans, which is wider than most fonts.
double relative_width(std::string_view c) {
  if (c.size() > 1) return c.size() > 2 ? 1.05 : 0.72;
  if (std::string_view("ijl.,:;'|! I()[]").find(c) != std::string_view::npos) return 0.37;
  if (std::string_view("frt-/\"").find(c) != std::string_view::npos) return 0.43;
  if (std::string_view("mMW@%w").find(c) != std::string_view::npos) return 0.98;
  return c[0] >= 'A' && c[0] <= 'Z' ? 0.74 : 0.64;
}

}  // namespace

std::string xml_text(std::string_view text) {
  const std::string visible = printable(text);
  std::string out;
  out.reserve(visible.size());
  for (const std::string_view c : code_points(visible)) {
    if (c == "&")
      out += "&amp;";
    else if (c == "<")
      out += "&lt;";
    else if (c == ">")
      out += "&gt;";
    else if (c == "\"")
      out += "&quot;";
    else if (c == "'")
      out += "&#39;";
    else if (c == "\xef\xbf\xbe" || c == "\xef\xbf\xbf")
      out += "\xef\xbf\xbd";  // XML excludes U+FFFE and U+FFFF
    else
      out += c;
  }
  return out;
}

double text_width(std::string_view text, double size) {
  double width = 0;
  for (const std::string_view c : code_points(text)) width += relative_width(c) * size;
  return width;
}

std::string shortened(std::string_view text, double size, double width) {
  const std::string visible = printable(text);
  if (text_width(visible, size) <= width) return visible;
  const auto all = code_points(visible);
  std::string head, tail;
  double left = width - size;
  // The ends of tensor names differ more often than their starts.
  for (std::size_t i = 0, j = all.size(); i < j;) {
    const bool at_tail = text_width(tail, size) <= 1.2 * text_width(head, size);
    const std::string_view c = all[at_tail ? j - 1 : i];
    left -= relative_width(c) * size;
    if (left < 0) break;
    if (at_tail) {
      tail.insert(0, c);
      --j;
    } else {
      head += c;
      ++i;
    }
  }
  return head + ellipsis + tail;
}

std::vector<std::string> shortened(const std::vector<std::string>& names, double size,
                                   double width) {
  std::vector<std::string> visible;
  for (const std::string& n : names) visible.push_back(printable(n));
  const auto fit = [&](const std::vector<std::string>& all) {
    return std::ranges::all_of(all, [&](const auto& n) { return text_width(n, size) <= width; });
  };
  if (fit(visible)) return visible;
  if (const SharedEnds ends = shared_ends(visible); !ends.prefix.empty() || !ends.suffix.empty()) {
    std::vector<std::string> rest;
    for (const std::string& n : visible) rest.push_back(without({ends.prefix, ""}, n));
    if (!fit(rest))
      for (std::size_t i = 0; i < rest.size(); ++i) rest[i] = without(ends, visible[i]);
    if (fit(rest)) return rest;
  }
  // The mean width of letters is about half of their height.
  for (auto n = static_cast<std::size_t>(2.4 * width / size); n > 4; --n)
    if (std::vector<std::string> out = short_names(visible, n); fit(out)) return out;
  for (std::string& n : visible) n = shortened(n, size, width);
  return visible;
}

std::vector<std::string> wrapped(std::string_view text, double size, double width) {
  std::vector<std::string> lines;
  std::string line, word;
  const auto add_word = [&] {
    if (!line.empty() && text_width(line + " " + word, size) > width) {
      lines.push_back(line);
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    word.clear();
  };
  const std::string visible = printable(text);
  for (const std::string_view c : code_points(visible)) {
    if (c == " " || text_width(word, size) + size > width) add_word();
    if (c != " ") word += c;
  }
  if (!word.empty()) add_word();
  if (!line.empty()) lines.push_back(line);
  return lines;
}

std::string px(double v) {
  const double tenths = std::round(10 * v) / 10;
  return fmt::format("{}", tenths == 0 ? 0 : tenths);
}

std::string text_element(double x, double y, std::string_view shown, const TextAt& how,
                         std::string_view full) {
  std::string out = fmt::format("<text x=\"{}\" y=\"{}\"", px(x), px(y));
  if (std::string_view(how.anchor) != "start")
    out += fmt::format(" text-anchor=\"{}\"", how.anchor);
  if (*how.style) out += fmt::format(" class=\"{}\"", how.style);
  if (!how.upright) out += fmt::format(" transform=\"rotate(-90 {} {})\"", px(x), px(y));
  out += ">" + xml_text(shown);
  if (!full.empty() && printable(full) != shown) out += "<title>" + xml_text(full) + "</title>";
  return out + "</text>\n";
}

double add_heading(std::string& out, std::string_view title, std::string_view subtitle,
                   double width) {
  double y = 14;
  const auto add = [&](std::string_view text, double size, const char* style) {
    for (const std::string& line : wrapped(text, size, width - 40)) {
      out += text_element(20, y + size, line, {.style = style});
      y += std::round(1.4 * size);
    }
  };
  add(title, 17, "title");
  add(subtitle, 13, "head soft");
  return y + 8;
}

double add_legend(std::string& out, const std::vector<LegendEntry>& entries, double y,
                  double width) {
  constexpr double left = 20, row = 20, gap = 18;
  std::vector<std::string> names;
  for (const LegendEntry& e : entries) names.push_back(e.name);
  names = shortened(names, 12, width - 2 * left - legend_swatch);
  double x = left;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const double wide = legend_swatch + text_width(names[i], 12);
    if (x > left && x + wide > width - left) {
      x = left;
      y += row;
    }
    out += entries[i].swatch(x, y + 6);
    out += text_element(x + legend_swatch, y + 10, names[i], {}, entries[i].name);
    x += wide + gap;
  }
  return entries.empty() ? y : y + 24;
}

std::string axis_title(const ChartAxis& axis) {
  return axis.unit.empty() ? axis.label : axis.label + " (" + axis.unit + ")";
}

}  // namespace sten
