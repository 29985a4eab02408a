// Numbers to places along a chart's axis, and its ticks.
#pragma once
#include <string>
#include <vector>

#include "libsten/report/svg_chart.h"

namespace sten {

struct ChartTick {
  double value;
  std::string label;  // empty: a line without a number
};

struct ChartScale {
  double low = 0, high = 1;
  bool log = false;
  std::vector<ChartTick> ticks;

  bool has(double v) const;      // finite, within the range
  double place(double v) const;  // 0 at `low`, 1 at `high`
};

// Can be drawn on the axis: finite, of a magnitude that can be subtracted, positive if logarithmic.
bool drawable(double v, const ChartAxis& axis);
// About `wanted` ticks at multiples of 1, 2 or 5 times a power of ten, or at powers of ten.
ChartScale chart_scale(const ChartAxis& axis, const std::vector<double>& values, int wanted);
// One value in full, for tooltips and bars.
std::string value_text(double v, const ChartAxis& axis);

}  // namespace sten
