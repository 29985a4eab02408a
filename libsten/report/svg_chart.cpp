// SPDX-License-Identifier: Apache-2.0
#include "libsten/report/svg_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "libsten/report/chart_axis.h"
#include "libsten/report/svg.h"

namespace sten {
namespace {

constexpr double plot_width = 580, plot_height = 380;  // pixels
constexpr double legend_row = 21, legend_swatch = 30, longest_name = 330;

std::string axis_title(const ChartAxis& axis) {
  return axis.unit.empty() ? axis.label : axis.label + " (" + axis.unit + ")";
}

class LineChart {
 public:
  explicit LineChart(const Chart& chart) : chart_(chart) {
    std::vector<double> xs, ys;
    for (const ChartSeries& s : chart.series)
      for (const ChartPoint& p : s.points)
        if (drawable(p)) {
          xs.push_back(p.x);
          ys.push_back(p.y);
        }
    x_ = chart_scale(chart.x, xs, 8);
    y_ = chart_scale(chart.y, ys, 7);
    for (std::size_t i = 0; i < chart.series.size(); ++i)
      if (std::any_of(chart.series[i].points.begin(), chart.series[i].points.end(),
                      [&](const ChartPoint& p) { return shown(p); }))
        visible_.push_back(i);
    legend_ = visible_.size() > 1 || (visible_.size() == 1 && !name(visible_[0]).empty());
  }

  std::string svg() {
    double widest = 0;
    for (const ChartTick& t : y_.ticks) widest = std::max(widest, text_width(t.label, 12));
    left_ = 20 + (chart_.y.label.empty() ? 0 : 24) + std::ceil(widest) + 8;
    right_ = left_ + plot_width;
    double width = right_ + 28;
    if (legend_) {
      double names = 0;
      for (const std::size_t i : visible_) labels_.push_back(name(i));
      labels_ = shortened(labels_, 12, longest_name);
      for (const std::string& l : labels_) names = std::max(names, text_width(l, 12));
      width = right_ + 24 + legend_swatch + std::ceil(std::min(names, longest_name)) + 16;
    }
    top_ = add_heading(out_, chart_.title, chart_.subtitle, width) + 6;
    bottom_ = top_ + plot_height;
    add_grid();
    if (visible_.empty())
      out_ += text_element((left_ + right_) / 2, (top_ + bottom_) / 2, "no data",
                           {.anchor = "middle", .style = "head soft"});
    for (const std::size_t i : visible_) add_series(i);
    if (legend_) add_legend();
    double height = bottom_ + 26 + (chart_.x.label.empty() ? 0 : 24) + 10;
    if (legend_) height = std::max(height, top_ + legend_row * visible_.size() + 16);
    return svg_document(width, height, chart_.title.empty() ? "chart" : chart_.title, out_);
  }

 private:
  const std::string& name(std::size_t i) const { return chart_.series[i].name; }
  bool drawable(const ChartPoint& p) const {
    return sten::drawable(p.x, chart_.x) && sten::drawable(p.y, chart_.y);
  }
  bool shown(const ChartPoint& p) const { return drawable(p) && x_.has(p.x) && y_.has(p.y); }
  double x(double v) const { return left_ + plot_width * x_.place(v); }
  double y(double v) const { return bottom_ - plot_height * y_.place(v); }

  void add_grid() {
    const auto line = [&](const char* style, double x1, double y1, double x2, double y2) {
      out_ += fmt::format("<path class=\"{}\" d=\"M{} {}L{} {}\"/>\n", style, px(x1), px(y1),
                          px(x2), px(y2));
    };
    for (const bool minor : {true, false}) {  // major ticks are drawn over minor ones
      const char* style = minor ? "minor" : "grid";
      for (const ChartTick& t : x_.ticks)
        if (t.label.empty() == minor) line(style, x(t.value), top_, x(t.value), bottom_);
      for (const ChartTick& t : y_.ticks)
        if (t.label.empty() == minor) line(style, left_, y(t.value), right_, y(t.value));
    }
    double free_from = 0;  // labels that would touch the previous one are omitted
    for (const ChartTick& t : x_.ticks) {
      const double half = text_width(t.label, 12) / 2;
      if (t.label.empty() || x(t.value) - half < free_from) continue;
      out_ += text_element(x(t.value), bottom_ + 20, t.label, {.anchor = "middle"});
      free_from = x(t.value) + half + 6;
    }
    for (const ChartTick& t : y_.ticks)
      if (!t.label.empty())
        out_ += text_element(left_ - 8, y(t.value) + 4, t.label, {.anchor = "end"});
    line("axis", left_, bottom_, right_, bottom_);
    line("axis", left_, top_, left_, bottom_);
    const TextAt middle = {.anchor = "middle", .style = "head"};
    const std::string x_title = axis_title(chart_.x), y_title = axis_title(chart_.y);
    if (!chart_.x.label.empty())
      out_ += text_element((left_ + right_) / 2, bottom_ + 45, shortened(x_title, 13, plot_width),
                           middle, x_title);
    if (!chart_.y.label.empty())
      out_ += text_element(30, (top_ + bottom_) / 2, shortened(y_title, 13, plot_height),
                           {.anchor = "middle", .style = "head", .upright = false}, y_title);
  }

  void add_series(std::size_t i) {
    const ChartSeries& s = chart_.series[i];
    out_ += fmt::format("<g class=\"{}\">\n", colour_class(i));
    if (s.line) add_line(s);
    if (s.markers || s.points.size() == 1)
      for (const ChartPoint& p : s.points)
        if (shown(p)) {
          std::string tip = s.name;
          if (!p.label.empty()) tip += (tip.empty() ? "" : ": ") + p.label;
          if (!tip.empty()) tip += "; ";
          tip += value_text(p.x, chart_.x) + ", " + value_text(p.y, chart_.y);
          out_ +=
              fmt::format("<g><title>{}</title>{}</g>\n", xml_text(tip), marker(i, x(p.x), y(p.y)));
        }
    out_ += "</g>\n";
  }

  // A nested frame clips values outside of a fixed range.
  void add_line(const ChartSeries& s) {
    std::string path;
    bool joined = false;
    for (const ChartPoint& p : s.points) {
      if (drawable(p)) {
        // Far outside, only the direction matters.
        const auto near = [](double v) { return px(std::clamp(v, -1e5, 1e5)); };
        path +=
            fmt::format("{}{} {}", joined ? "L" : "M", near(x(p.x) - left_), near(y(p.y) - top_));
      }
      joined = drawable(p);
    }
    out_ += fmt::format(
        "<svg x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" overflow=\"hidden\"><path d=\"{}\" "
        "fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\" stroke-linejoin=\"round\"{}/>"
        "</svg>\n",
        px(left_), px(top_), px(plot_width), px(plot_height), path,
        s.dashed ? " stroke-dasharray=\"6 4\"" : "");
  }

  void add_legend() {
    double y = top_ + 10;
    for (std::size_t k = 0; k < visible_.size(); ++k) {
      const std::size_t i = visible_[k];
      const ChartSeries& s = chart_.series[i];
      const double x = right_ + 24;
      out_ += fmt::format("<g class=\"{}\">", colour_class(i));
      if (s.line)
        out_ += fmt::format(
            "<path d=\"M{} {}h22\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\"{}/>",
            px(x), px(y), s.dashed ? " stroke-dasharray=\"6 4\"" : "");
      if (s.markers) out_ += marker(i, x + 11, y);
      out_ += "</g>\n";
      out_ += text_element(x + legend_swatch, y + 4, labels_[k], {}, s.name);
      y += legend_row;
    }
  }

  const Chart& chart_;
  ChartScale x_, y_;
  std::vector<std::size_t> visible_;  // series with a point in the ranges
  std::vector<std::string> labels_;   // of visible series, for the legend
  bool legend_ = false;
  double left_ = 0, right_ = 0, top_ = 0, bottom_ = 0;
  std::string out_;
};

}  // namespace

std::string to_svg(const Chart& chart) { return LineChart(chart).svg(); }

}  // namespace sten
