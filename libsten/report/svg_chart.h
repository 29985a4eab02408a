// Charts as self-contained SVG: no script, no font or file from elsewhere, readable in light and
// in dark, the same bytes for the same data.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sten {

// How an axis' numbers look: 0.25, "25 %", "250 kB".
enum class ChartNumberFormat { plain, percent, bytes };

struct ChartAxis {
  std::string label = {};
  std::string unit = {};                                // in parentheses after the label
  std::optional<std::pair<double, double>> range = {};  // (low, high); absent: as the data need it
  bool log = false;                                     // what is not positive is left out
  ChartNumberFormat numbers = ChartNumberFormat::plain;
};

struct ChartPoint {
  double x = 0, y = 0;     // not finite: a gap in the line
  std::string label = {};  // in the point's tooltip
};

struct ChartSeries {
  std::string name = {};
  std::vector<ChartPoint> points = {};
  bool line = true, markers = true, dashed = false;
};

// Series with points get a row of the legend, at the right of the plot; a single series without a
// name gets none. Beyond seven series colours repeat with other markers.
struct Chart {
  std::string title = {}, subtitle = {};
  ChartAxis x = {}, y = {};
  std::vector<ChartSeries> series = {};
};

// Horizontal bars from 0, one group for each name, one bar of it for each of `series`.
struct BarChart {
  struct Group {
    std::string name = {};
    std::vector<double> values = {};  // not finite or absent: no bar
  };
  std::string title = {}, subtitle = {};
  ChartAxis axis = {};                   // linear
  std::vector<std::string> series = {};  // names for the legend; none for a single series
  std::vector<Group> groups = {};
};

// One <svg> element, ending in a newline, for a file or to be put into HTML. Any text is escaped;
// long names are shortened in their middle and have a tooltip. Without data it says "no data".
std::string to_svg(const Chart& chart);
std::string to_svg(const BarChart& chart);

}  // namespace sten
