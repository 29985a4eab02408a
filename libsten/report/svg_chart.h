// SPDX-License-Identifier: Apache-2.0
// Charts as self-contained SVG: no scripts, external fonts or files; for light and dark mode; the
// same bytes for the same data.
#pragma once
#include <string>

#include "libsten/report/chart.h"

namespace sten {

// The size and style of a drawn chart.
struct ChartFormat {
  double width = 900;     // pixels; below 480, names are above their bars
  bool has_style = true;  // false: the document around it has chart_style()
};

// An <svg> element with a final newline, for a file or HTML. Its title and description say in words
// what it shows. Text is escaped; long names are shortened in the middle and have a tooltip. Long
// lines are drawn with the extremes of each pixel column. Without data, the chart says "no data".
std::string to_svg(const Chart& chart, const ChartFormat& format = {});
std::string to_svg(const BarChart& chart, const ChartFormat& format = {});
std::string to_svg(const AnyChart& chart, const ChartFormat& format = {});

// A sentence per series: ends and extremes of lines, the extremes of bars.
std::string description_of(const Chart& chart);
std::string description_of(const BarChart& chart);

}  // namespace sten
