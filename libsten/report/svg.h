// SPDX-License-Identifier: Apache-2.0
// Elements of SVG charts: escaped text, estimated text widths, frame and style.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "libsten/report/chart_axis.h"

namespace sten {

// Printable text with the special characters of XML and HTML escaped or replaced.
std::string xml_text(std::string_view text);

// Upper estimate of a text's width in pixels, in common sans-serif fonts.
double text_width(std::string_view text, double size);
// The text, with its middle replaced by an ellipsis if wider than `width`.
std::string shortened(std::string_view text, double size, double width);
// The same for several names, which stay distinct if short_names() can.
std::vector<std::string> shortened(const std::vector<std::string>& names, double size,
                                   double width);
// Lines of the text, broken between words, or within words wider than `width`.
std::vector<std::string> wrapped(std::string_view text, double size, double width);

// Formats a coordinate to tenths of a pixel, without "-0".
std::string px(double v);

// The marker of series `index` at (x, y), in the current colour.
std::string marker(std::size_t index, double x, double y);
// The CSS class of the colour of series `index`.
std::string colour_class(std::size_t index);

struct TextAt {
  const char* anchor = "start";  // "middle", "end"
  const char* style = "";        // "soft", "title", "head", "small"
  bool upright = true;           // false: turned by 90 degrees, read from the right
};
// A <text> element. A shortened text has the full one as its tooltip.
std::string text_element(double x, double y, std::string_view shown, const TextAt& how,
                         std::string_view full = {});

// Adds title and subtitle, wrapped, to `out`; returns the y below them.
double add_heading(std::string& out, std::string_view title, std::string_view subtitle,
                   double width);

// An entry of a legend: the name, and its swatch at (x, y) as SVG, legend_swatch pixels wide.
inline constexpr double legend_swatch = 26;
struct LegendEntry {
  std::string name;
  std::function<std::string(double x, double y)> swatch;
};
// Adds a legend in rows within `width`; returns the y below it.
double add_legend(std::string& out, const std::vector<LegendEntry>& entries, double y,
                  double width);

// The title of an axis with its unit.
std::string axis_title(const ChartAxis& axis);
// The CSS of charts, for light and dark mode.
std::string chart_style();
// An <svg> element with `body`.
struct SvgDocument {
  double width = 0, height = 0;
  std::string_view title, description;
  bool has_style = true;
};
std::string svg_document(const SvgDocument& document, std::string_view body);

}  // namespace sten
