// SPDX-License-Identifier: Apache-2.0
// Colours, markers and style of charts.
#include <fmt/format.h>

#include "libsten/report/svg.h"

namespace sten {
namespace {

// The hues of Okabe and Ito, "Color Universal Design" (2008), distinct for any kind of colour
// vision, with a contrast of at least 3 to the background.
constexpr const char* colours[] = {"#0069a8", "#c95400", "#00805f", "#a8467f",
                                   "#8a6500", "#2f86b8", "#1f2328"};
constexpr const char* dark_colours[] = {"#56b4e9", "#f08a4b", "#2ec99a", "#e08fc0",
                                        "#e6b422", "#8fa8ff", "#f0f3f6"};
constexpr std::size_t colour_count = std::size(colours);

}  // namespace

std::string colour_class(std::size_t index) { return fmt::format("c{}", index % colour_count); }

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

std::string chart_style() {
  std::string light, dark;
  for (std::size_t i = 0; i < colour_count; ++i) {
    light += fmt::format(".sten-chart .c{}{{color:{}}}\n", i, colours[i]);
    dark += fmt::format(".sten-chart .c{}{{color:{}}}\n", i, dark_colours[i]);
  }
  return ".sten-chart{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',"
         "Arial,sans-serif;font-variant-numeric:tabular-nums}\n"
         ".sten-chart text{fill:#1f2328;stroke:none}\n"
         ".sten-chart .title{font-size:17px;font-weight:600}\n"
         ".sten-chart .head{font-size:13px}\n"
         ".sten-chart .small{font-size:11px}\n"
         ".sten-chart .soft{fill:#59636e}\n"
         ".sten-chart .back{fill:#fff}\n"
         ".sten-chart .grid{stroke:#e6e9ed;fill:none}\n"
         ".sten-chart .minor{stroke:#f3f4f6;fill:none}\n"
         ".sten-chart .axis{stroke:#818b98;fill:none}\n"
         ".sten-chart .whisker{stroke:#1f2328;fill:none}\n" +
         light +
         "@media screen and (prefers-color-scheme:dark){\n"
         ".sten-chart text{fill:#f0f3f6}\n"
         ".sten-chart .soft{fill:#a8b1bb}\n"
         ".sten-chart .back{fill:#14181f}\n"
         ".sten-chart .grid{stroke:#2b323b}\n"
         ".sten-chart .minor{stroke:#1e242c}\n"
         ".sten-chart .axis{stroke:#7d8590}\n"
         ".sten-chart .whisker{stroke:#f0f3f6}\n" +
         dark + "}\n";
}

std::string svg_document(const SvgDocument& document, std::string_view body) {
  const std::string style =
      document.has_style ? fmt::format("<style>\n{}</style>\n", chart_style()) : "";
  const std::string description =
      document.description.empty()
          ? ""
          : fmt::format("<desc>{}</desc>\n", xml_text(document.description));
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"sten-chart\" role=\"img\" "
      "aria-label=\"{0}\" width=\"{1}\" height=\"{2}\" viewBox=\"0 0 {1} {2}\">\n"
      "<title>{0}</title>\n{3}{4}"
      "<rect class=\"back\" width=\"{1}\" height=\"{2}\"/>\n{5}</svg>\n",
      xml_text(document.title), px(document.width), px(document.height), description, style, body);
}

}  // namespace sten
