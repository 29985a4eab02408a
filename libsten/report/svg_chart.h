// SPDX-License-Identifier: Apache-2.0
// Charts as self-contained SVG: no scripts, external fonts or files; for light and dark mode; the
// same bytes for the same data.
#pragma once
#include <string>
#include <vector>

#include "libsten/report/chart_axis.h"

namespace sten {

struct ChartPoint {
  double x = 0, y = 0;     // not finite: a gap in the line
  std::string label = {};  // for the point's tooltip
};

struct ChartSeries {
  std::string name = {};
  std::vector<ChartPoint> points = {};
  bool line = true, markers = true, dashed = false;
};

// A legend at the right of the plot lists series with points, except for a single series without a
// name. After seven series, colours repeat with other markers.
struct Chart {
  std::string title = {}, subtitle = {};
  ChartAxis x = {}, y = {};
  std::vector<ChartSeries> series = {};
};

// Horizontal bars from 0: a group per name, with a bar per series.
struct BarChart {
  struct Group {
    std::string name = {};
    std::vector<double> values = {};  // not finite or absent: no bar
  };
  std::string title = {}, subtitle = {};
  ChartAxis axis = {};                   // must be linear
  std::vector<std::string> series = {};  // names for the legend; empty for a single series
  std::vector<Group> groups = {};
};

// An <svg> element with a final newline, for a file or HTML. Text is escaped; long names are
// shortened in the middle and have a tooltip. Without data, the chart says "no data".
std::string to_svg(const Chart& chart);
std::string to_svg(const BarChart& chart);

}  // namespace sten
