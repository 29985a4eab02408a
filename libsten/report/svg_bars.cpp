// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "libsten/report/chart_axis.h"
#include "libsten/report/svg.h"
#include "libsten/report/svg_chart.h"

namespace sten {
namespace {

constexpr double chart_width = 900, bar = 12, gap = 9;  // pixels
constexpr double longest_name = 340;

// Adds the legend in one or more rows; returns the y below it.
double add_bar_legend(std::string& out, const std::vector<std::string>& names, double y) {
  double x = 20;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string name = shortened(names[i], 12, longest_name);
    const double width = 18 + text_width(name, 12) + 22;
    if (x > 20 && x + width > chart_width) {
      x = 20;
      y += 20;
    }
    out += fmt::format(
        "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"12\" height=\"12\" rx=\"2\" "
        "fill=\"currentColor\"/>\n",
        colour_class(i), px(x), px(y));
    out += text_element(x + 18, y + 10, name, {}, names[i]);
    x += width;
  }
  return y + 24;
}

}  // namespace

std::string to_svg(const BarChart& chart) {
  ChartAxis axis = chart.axis;
  axis.log = false;
  std::vector<double> values = {0};
  double names = 0, numbers = 0;
  std::vector<std::string> labels;
  for (const BarChart::Group& g : chart.groups) labels.push_back(g.name);
  labels = shortened(labels, 12, longest_name);
  for (const std::string& l : labels) names = std::max(names, text_width(l, 12));
  std::size_t bars = std::max<std::size_t>(chart.series.size(), 1);
  for (const BarChart::Group& g : chart.groups) {
    bars = std::max(bars, g.values.size());
    for (const double v : g.values)
      if (drawable(v, axis)) {
        values.push_back(v);
        numbers = std::max(numbers, text_width(value_text(v, axis), 11));
      }
  }
  const ChartScale scale = chart_scale(axis, values, 6);
  const double left = 20 + std::ceil(names) + 10, right = chart_width - 20 - numbers - 8;
  const auto x = [&](double v) {
    return left + (right - left) * std::clamp(scale.place(v), 0.0, 1.0);
  };

  std::string out;
  double top = add_heading(out, chart.title, chart.subtitle, chart_width);
  if (chart.series.size() > 1) top = add_bar_legend(out, chart.series, top);
  const double group = bar * static_cast<double>(bars) + gap;
  const bool empty = values.size() == 1;
  const double bottom =
      top + std::max(group * static_cast<double>(chart.groups.size()), empty ? 60.0 : 0.0) + gap;
  for (const ChartTick& t : scale.ticks) {
    out += fmt::format("<path class=\"{}\" d=\"M{} {}V{}\"/>\n", t.value == 0 ? "axis" : "grid",
                       px(x(t.value)), px(top), px(bottom));
    out += text_element(x(t.value), bottom + 18, t.label, {.anchor = "middle"});
  }
  double y = top + gap;
  for (const BarChart::Group& g : chart.groups) {
    out += text_element(left - 8, y + (group - gap) / 2 + 4, shortened(g.name, 12, longest_name),
                        {.anchor = "end"}, g.name);
    for (std::size_t i = 0; i < g.values.size(); ++i) {
      const double v = g.values[i], low = std::min(x(0), x(v)), row = y + bar * i;
      if (!drawable(v, axis)) continue;
      const std::string series = i < chart.series.size() ? chart.series[i] : "";
      out += fmt::format(
          "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"currentColor\">"
          "<title>{}</title></rect>\n",
          colour_class(i), px(low), px(row + 0.5), px(std::abs(x(v) - x(0))), px(bar - 1),
          xml_text(g.name + (series.empty() ? "" : ", " + series) + ": " + value_text(v, axis)));
      out += fmt::format("<text class=\"soft\" font-size=\"11\" x=\"{}\" y=\"{}\">{}</text>\n",
                         px(std::max(x(0), x(v)) + 5), px(row + bar - 2),
                         xml_text(value_text(v, axis)));
    }
    y += group;
  }
  if (empty)
    out += text_element((left + right) / 2, (top + bottom) / 2, "no data",
                        {.anchor = "middle", .style = "head soft"});
  const std::string title = axis.unit.empty() ? axis.label : axis.label + " (" + axis.unit + ")";
  if (!axis.label.empty())
    out += text_element((left + right) / 2, bottom + 41, shortened(title, 13, right - left),
                        {.anchor = "middle", .style = "head"}, title);
  return svg_document(chart_width, bottom + 28 + (axis.label.empty() ? 0 : 24),
                      chart.title.empty() ? "chart" : chart.title, out);
}

}  // namespace sten
