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

// Colours of Okabe and Ito, "Color Universal Design" (2008), distinct for any kind of colour
// vision: those with contrast to the background.
constexpr const char* colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                   "#e69f00", "#56b4e9", "#000000"};
constexpr const char* dark_colours[] = {"#56b4e9", "#e8722a", "#1fb58a", "#cc79a7",
                                        "#e69f00", "#f0e442", "#f0f3f6"};
constexpr std::size_t colour_count = std::size(colours);

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

std::string style() {
  std::string light, dark;
  for (std::size_t i = 0; i < colour_count; ++i) {
    light += fmt::format(".sten-chart .c{}{{color:{}}}\n", i, colours[i]);
    dark += fmt::format(".sten-chart .c{}{{color:{}}}\n", i, dark_colours[i]);
  }
  return ".sten-chart{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',"
         "Arial,sans-serif}\n"
         ".sten-chart text{fill:#1f2328;stroke:none}\n"
         ".sten-chart .title{font-size:17px;font-weight:600}\n"
         ".sten-chart .head{font-size:13px}\n"
         ".sten-chart .soft{fill:#59636e}\n"
         ".sten-chart .back{fill:#fff}\n"
         ".sten-chart .grid{stroke:#e6e9ed;fill:none}\n"
         ".sten-chart .minor{stroke:#f3f4f6;fill:none}\n"
         ".sten-chart .axis{stroke:#818b98;fill:none}\n" +
         light +
         "@media (prefers-color-scheme:dark){\n"
         ".sten-chart text{fill:#f0f3f6}\n"
         ".sten-chart .soft{fill:#a8b1bb}\n"
         ".sten-chart .back{fill:#14181f}\n"
         ".sten-chart .grid{stroke:#2b323b}\n"
         ".sten-chart .minor{stroke:#1e242c}\n"
         ".sten-chart .axis{stroke:#7d8590}\n" +
         dark + "}\n";
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

std::string marker(std::size_t index, double x, double y) {
  const auto shape = [&](const char* path, bool filled) {
    return fmt::format("<path d=\"M{} {}{}\"{}/>", px(x), px(y), path,
                       filled ? " fill=\"currentColor\""
                              : " fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\"");
  };
  switch (index % 8) {
    case 0:
      return fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"4\" fill=\"currentColor\"/>", px(x),
                         px(y));
    case 1:
      return shape("m-3.6-3.6h7.2v7.2h-7.2z", true);
    case 2:
      return shape("m0-5l4.8 8.4h-9.6z", true);
    case 3:
      return shape("m0-5.2l5.2 5.2l-5.2 5.2l-5.2-5.2z", true);
    case 4:
      return shape("m0 5l4.8-8.4h-9.6z", true);
    case 5:
      return shape("m-4.5 0h9m-4.5-4.5v9", false);
    case 6:
      return shape("m-3.6-3.6l7.2 7.2m0-7.2l-7.2 7.2", false);
    default:
      return fmt::format(
          "<circle cx=\"{}\" cy=\"{}\" r=\"3.6\" fill=\"none\" stroke=\"currentColor\" "
          "stroke-width=\"2\"/>",
          px(x), px(y));
  }
}

std::string colour_class(std::size_t index) { return fmt::format("c{}", index % colour_count); }

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

std::string svg_document(double width, double height, std::string_view label,
                         std::string_view body) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"sten-chart\" role=\"img\" "
      "aria-label=\"{0}\" width=\"{1}\" height=\"{2}\" viewBox=\"0 0 {1} {2}\">\n"
      "<title>{0}</title>\n<style>\n{3}</style>\n"
      "<rect class=\"back\" width=\"{1}\" height=\"{2}\"/>\n{4}</svg>\n",
      xml_text(label), px(width), px(height), style(), body);
}

}  // namespace sten
