// SPDX-License-Identifier: Apache-2.0
// Charts of reports, as data.
#pragma once
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "libsten/report/chart_axis.h"

namespace sten {

struct ChartPoint {
  double x = 0, y = 0;     // not finite: a gap in the line
  std::string label = {};  // for the point's tooltip
};

// How consecutive points are connected.
enum class ChartLine {
  none,
  straight,
  steps,  // constant until the next point
};

struct ChartSeries {
  std::string name = {};
  std::vector<ChartPoint> points = {};
  ChartLine line = ChartLine::straight;
  bool markers = true, dashed = false;
  bool on_right = false;  // y is on the right axis
};

// A legend above the plot lists series with points, except for a single series without a name.
// After seven series, colours repeat with other markers.
struct Chart {
  std::string title = {}, subtitle = {};
  ChartAxis x = {}, y = {};
  std::optional<ChartAxis> right = {};  // second y axis
  std::vector<ChartSeries> series = {};
};

// Horizontal bars from 0: a group per name, with a bar per series.
struct BarChart {
  struct Range {  // (low, high)
    double low = std::numeric_limits<double>::quiet_NaN();
    double high = std::numeric_limits<double>::quiet_NaN();
  };
  struct Group {
    std::string name = {};
    std::vector<double> values = {};  // not finite or absent: no bar
    std::vector<Range> ranges = {};   // whiskers over the bars; not finite or absent: none
  };
  std::string title = {}, subtitle = {};
  ChartAxis axis = {};                   // must be linear
  std::vector<std::string> series = {};  // names for the legend; empty for a single series
  std::vector<Group> groups = {};
  std::optional<double> reference = {};  // a mark at this value
};

using AnyChart = std::variant<Chart, BarChart>;

}  // namespace sten
