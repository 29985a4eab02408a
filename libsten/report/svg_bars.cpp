// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "libsten/report/chart_axis.h"
#include "libsten/report/svg.h"
#include "libsten/report/svg_chart.h"

namespace sten {
namespace {

constexpr double bar = 13, gap = 10, name_row = 18, margin = 20;  // pixels
constexpr double narrow = 480;                                    // names are above the bars

class BarDrawing {
 public:
  BarDrawing(const BarChart& chart, const ChartFormat& format)
      : chart_(chart), format_(format), axis_(chart.axis), above_(format.width < narrow) {
    axis_.log = false;
    std::vector<double> values = {0};
    if (chart.reference) values.push_back(*chart.reference);
    double numbers = 0, names = 0;
    bars_ = std::max<std::size_t>(chart.series.size(), 1);
    for (const BarChart::Group& g : chart.groups) {
      names_.push_back(g.name);
      bars_ = std::max(bars_, g.values.size());
      for (const double v : g.values) {
        if (!drawable(v, axis_)) continue;
        empty_ = false;
        values.push_back(v);
        numbers = std::max(numbers, text_width(value_text(v, axis_), 11));
      }
      for (const BarChart::Range& r : g.ranges)
        for (const double v : {r.low, r.high})
          if (drawable(v, axis_)) values.push_back(v);
    }
    names_ = shortened(names_, 12, above_ ? format.width - 2 * margin : 0.38 * format.width);
    for (const std::string& n : names_) names = std::max(names, text_width(n, 12));
    left_ = above_ ? margin : margin + std::ceil(names) + 10;
    right_ = format.width - margin - numbers - 8;
    scale_ = chart_scale(axis_, values, std::clamp(static_cast<int>((right_ - left_) / 90), 2, 6));
  }

  std::string svg() {
    top_ = add_heading(out_, chart_.title, chart_.subtitle, format_.width);
    if (chart_.series.size() > 1) add_series_legend();
    const double group = (above_ ? name_row : 0) + bar * static_cast<double>(bars_) + gap;
    bottom_ = top_ + std::max(group * static_cast<double>(names_.size()), empty_ ? 60.0 : 0) + gap;
    add_grid();
    for (std::size_t i = 0; i < names_.size(); ++i)
      add_group(i, top_ + gap + group * static_cast<double>(i));
    const double middle = (left_ + right_) / 2;
    if (empty_)
      out_ += text_element(middle, (top_ + bottom_) / 2, "no data",
                           {.anchor = "middle", .style = "head soft"});
    const std::string title = axis_title(axis_);
    if (!axis_.label.empty())
      out_ += text_element(middle, bottom_ + 41, shortened(title, 13, right_ - left_),
                           {.anchor = "middle", .style = "head"}, title);
    return svg_document({.width = format_.width,
                         .height = bottom_ + 28 + (axis_.label.empty() ? 0 : 24),
                         .title = chart_.title.empty() ? "chart" : chart_.title,
                         .description = description_of(chart_),
                         .has_style = format_.has_style},
                        out_);
  }

 private:
  double x(double v) const {
    return left_ + (right_ - left_) * std::clamp(scale_.place(v), 0.0, 1.0);
  }

  void add_series_legend() {
    std::vector<LegendEntry> entries;
    for (std::size_t i = 0; i < chart_.series.size(); ++i)
      entries.push_back({chart_.series[i], [i](double x, double y) {
                           return fmt::format(
                               "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"14\" height=\"12\" "
                               "rx=\"2\" fill=\"currentColor\"/>\n",
                               colour_class(i), px(x + 4), px(y - 6));
                         }});
    top_ = add_legend(out_, entries, top_, format_.width);
  }

  void add_grid() {
    double free_from = 0;  // labels that would touch the previous one are omitted
    for (const ChartTick& t : scale_.ticks) {
      out_ += fmt::format("<path class=\"{}\" d=\"M{} {}V{}\"/>\n", t.value == 0 ? "axis" : "grid",
                          px(x(t.value)), px(top_), px(bottom_));
      const double half = text_width(t.label, 12) / 2;
      if (x(t.value) - half < free_from) continue;
      out_ += text_element(x(t.value), bottom_ + 18, t.label, {.anchor = "middle"});
      free_from = x(t.value) + half + 6;
    }
  }

  void add_group(std::size_t k, double y) {
    const BarChart::Group& g = chart_.groups[k];
    if (above_) {
      out_ += text_element(left_, y + 11, names_[k], {}, g.name);
      y += name_row;
    } else {
      out_ += text_element(left_ - 8, y + bar * static_cast<double>(bars_) / 2 + 4, names_[k],
                           {.anchor = "end"}, g.name);
    }
    for (std::size_t i = 0; i < g.values.size(); ++i)
      if (drawable(g.values[i], axis_)) add_bar(g, i, y + bar * static_cast<double>(i));
    if (chart_.reference)
      out_ += fmt::format("<path class=\"whisker\" d=\"M{} {}v{}\"/>\n", px(x(*chart_.reference)),
                          px(y - 3), px(bar * static_cast<double>(bars_) + 6));
  }

  void add_bar(const BarChart::Group& g, std::size_t i, double y) {
    const double v = g.values[i];
    const std::string series = i < chart_.series.size() ? chart_.series[i] : "";
    out_ += fmt::format(
        "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"currentColor\">"
        "<title>{}</title></rect>\n",
        colour_class(i), px(std::min(x(0), x(v))), px(y + 0.5), px(std::abs(x(v) - x(0))),
        px(bar - 1),
        xml_text(g.name + (series.empty() ? "" : ", " + series) + ": " + value_text(v, axis_)));
    double end = std::max(x(0), x(v));
    if (const BarChart::Range r = i < g.ranges.size() ? g.ranges[i] : BarChart::Range{};
        drawable(r.low, axis_) && drawable(r.high, axis_)) {
      out_ += fmt::format("<path class=\"whisker\" d=\"M{0} {2}H{1}M{0} {3}v6M{1} {3}v6\"/>\n",
                          px(x(r.low)), px(x(r.high)), px(y + bar / 2), px(y + bar / 2 - 3));
      end = std::max(end, x(r.high));
    }
    out_ += text_element(end + 5, y + bar - 2.5, value_text(v, axis_), {.style = "small soft"});
  }

  const BarChart& chart_;
  const ChartFormat& format_;
  ChartAxis axis_;
  const bool above_;
  bool empty_ = true;
  std::size_t bars_ = 1;            // per group
  std::vector<std::string> names_;  // of groups, shortened
  ChartScale scale_;
  double left_ = 0, right_ = 0, top_ = 0, bottom_ = 0;
  std::string out_;
};

}  // namespace

std::string to_svg(const BarChart& chart, const ChartFormat& format) {
  return BarDrawing(chart, format).svg();
}

}  // namespace sten
