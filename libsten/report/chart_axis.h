// SPDX-License-Identifier: Apache-2.0
// Axis of a chart: its scale and ticks.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sten {

// Formats of an axis' numbers: 0.25, "25 %", "250 kB".
enum class ChartNumberFormat { plain, percent, bytes };

struct ChartAxis {
  std::string label = {};
  std::string unit = {};                                // in parentheses after the label
  std::optional<std::pair<double, double>> range = {};  // (low, high); absent: from the data
  bool log = false;                                     // omits values that are not positive
  ChartNumberFormat numbers = ChartNumberFormat::plain;
};

struct ChartTick {
  double value;
  std::string label;  // empty: a minor tick
};

struct ChartScale {
  double low = 0, high = 1;
  bool log = false;
  std::vector<ChartTick> ticks;

  bool has(double v) const;      // finite and in the range
  double place(double v) const;  // 0 at `low`, 1 at `high`
};

// Whether a value can be drawn: finite, not too large for differences, and positive on a
// logarithmic axis.
bool drawable(double v, const ChartAxis& axis);
// The scale with about `wanted` ticks, at multiples of 1, 2 or 5 times a power of ten, or at powers
// of ten.
ChartScale chart_scale(const ChartAxis& axis, const std::vector<double>& values, int wanted);
// A value in full, for tooltips and bars.
std::string value_text(double v, const ChartAxis& axis);

}  // namespace sten
