// What charts are drawn with: escaped text, estimated widths, the frame and its style.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace sten {

// Printable, with the characters that XML and HTML give a meaning, or forbid, replaced.
std::string xml_text(std::string_view text);

// Pixels that a text takes at most in a common sans-serif font.
double text_width(std::string_view text, double size);
// With its middle replaced by an ellipsis if it is wider than `width`.
std::string shortened(std::string_view text, double size, double width);
// The same of names that stay apart where short_names() can.
std::vector<std::string> shortened(const std::vector<std::string>& names, double size,
                                   double width);
// Broken between words, or within words that are wider than `width`.
std::vector<std::string> wrapped(std::string_view text, double size, double width);

// Coordinates need no more than tenths of a pixel, and never say "-0".
std::string px(double v);

// The marker of series `index`, around (x, y); it is drawn in the current colour.
std::string marker(std::size_t index, double x, double y);
// The class that has the colour of series `index`.
std::string colour_class(std::size_t index);

struct TextAt {
  const char* anchor = "start";  // "middle", "end"
  const char* style = "";        // "soft", "title", "head"
  bool upright = true;           // or turned by 90 degrees, read from the right
};
// <text>; a text that is not shown in full has the whole as its tooltip.
std::string text_element(double x, double y, std::string_view shown, const TextAt& how,
                         std::string_view full = {});

// Title and subtitle, wrapped, into `out`; returns the y below them.
double add_heading(std::string& out, std::string_view title, std::string_view subtitle,
                   double width);
// <svg> with its style around `body`.
std::string svg_document(double width, double height, std::string_view label,
                         std::string_view body);

}  // namespace sten
