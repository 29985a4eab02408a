// SPDX-License-Identifier: Apache-2.0
// Elements of SVG charts: escaped text, estimated text widths, frame and style.
#pragma once
#include <string>
#include <string_view>
#include <vector>

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
  const char* style = "";        // "soft", "title", "head"
  bool upright = true;           // false: turned by 90 degrees, read from the right
};
// A <text> element. A shortened text has the full one as its tooltip.
std::string text_element(double x, double y, std::string_view shown, const TextAt& how,
                         std::string_view full = {});

// Adds title and subtitle, wrapped, to `out`; returns the y below them.
double add_heading(std::string& out, std::string_view title, std::string_view subtitle,
                   double width);
// An <svg> element with its style and `body`.
std::string svg_document(double width, double height, std::string_view label,
                         std::string_view body);

}  // namespace sten
