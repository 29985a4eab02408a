// SPDX-License-Identifier: Apache-2.0
#include "libsten/report/svg_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "libsten/report/chart_axis.h"
#include "libsten/report/chart_points.h"
#include "libsten/report/svg.h"

namespace sten {
namespace {

constexpr double most_plot_height = 380;  // pixels
// Beyond these numbers of points, a line has no markers, and a marker hides others within
// `marker_cell` pixels.
constexpr std::size_t most_line_markers = 60, most_distinct_markers = 500;
constexpr double marker_cell = 6;

class LineChart {
 public:
  LineChart(const Chart& chart, const ChartFormat& format) : chart_(chart), format_(format) {
    std::vector<double> xs, ys, rights;
    for (const ChartSeries& s : chart.series)
      for (const ChartPoint& p : s.points)
        if (drawable(s, p)) {
          xs.push_back(p.x);
          (on_right(s) ? rights : ys).push_back(p.y);
        }
    x_ = chart_scale(chart.x, xs, static_cast<int>(std::clamp(format.width / 100, 3.0, 8.0)));
    y_ = chart_scale(chart.y, ys, 7);
    if (chart.right) right_y_ = chart_scale(*chart.right, rights, 7);
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
      const ChartSeries& s = chart.series[i];
      if (std::ranges::any_of(s.points, [&](const ChartPoint& p) { return shown(s, p); }))
        visible_.push_back(i);
    }
  }

  std::string svg() {
    const auto widest = [](const ChartScale& scale) {
      double width = 0;
      for (const ChartTick& t : scale.ticks) width = std::max(width, text_width(t.label, 12));
      return std::ceil(width);
    };
    left_ = 20 + widest(y_) + 8;
    right_ = format_.width - (chart_.right ? widest(right_y_) + 28 : 28);
    top_ = add_heading(out_, chart_.title, chart_.subtitle, format_.width);
    if (visible_.size() > 1 || (visible_.size() == 1 && !series(visible_[0]).name.empty()))
      add_series_legend();
    if (!chart_.y.label.empty() || chart_.right) top_ += 22;
    bottom_ = top_ + std::min(most_plot_height, std::round(0.75 * (right_ - left_)));
    add_grid();
    if (visible_.empty())
      out_ += text_element((left_ + right_) / 2, (top_ + bottom_) / 2, "no data",
                           {.anchor = "middle", .style = "head soft"});
    for (const std::size_t i : visible_) add_series(i);
    return svg_document({.width = format_.width,
                         .height = bottom_ + 36 + (chart_.x.label.empty() ? 0 : 24),
                         .title = chart_.title.empty() ? "chart" : chart_.title,
                         .description = description_of(chart_),
                         .has_style = format_.has_style},
                        out_);
  }

 private:
  const ChartSeries& series(std::size_t i) const { return chart_.series[i]; }
  bool on_right(const ChartSeries& s) const { return s.on_right && chart_.right; }
  const ChartAxis& axis(const ChartSeries& s) const {
    return on_right(s) ? *chart_.right : chart_.y;
  }
  const ChartScale& scale(const ChartSeries& s) const { return on_right(s) ? right_y_ : y_; }
  bool drawable(const ChartSeries& s, const ChartPoint& p) const {
    return sten::drawable(p.x, chart_.x) && sten::drawable(p.y, axis(s));
  }
  bool shown(const ChartSeries& s, const ChartPoint& p) const {
    return drawable(s, p) && x_.has(p.x) && scale(s).has(p.y);
  }
  double x(double v) const { return left_ + (right_ - left_) * x_.place(v); }
  double y(double v, const ChartScale& scale) const {
    return bottom_ - (bottom_ - top_) * scale.place(v);
  }

  void add_series_legend() {
    std::vector<LegendEntry> entries;
    for (const std::size_t i : visible_) {
      const ChartSeries& s = series(i);
      entries.push_back({s.name, [&s, i](double x, double y) {
                           std::string out = fmt::format("<g class=\"{}\">", colour_class(i));
                           if (s.line != ChartLine::none)
                             out +=
                                 fmt::format("<path d=\"M{} {}h20\" {}/>", px(x), px(y), stroke(s));
                           if (has_markers(s)) out += marker(i, x + 10, y);
                           return out + "</g>\n";
                         }});
    }
    top_ = add_legend(out_, entries, top_, format_.width);
  }

  static bool has_markers(const ChartSeries& s) {
    return s.points.size() == 1 ||
           (s.markers && (s.line == ChartLine::none || s.points.size() <= most_line_markers));
  }
  static std::string stroke(const ChartSeries& s) {
    return fmt::format(
        "fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\" "
        "stroke-linejoin=\"round\"{}",
        s.dashed ? " stroke-dasharray=\"6 4\"" : "");
  }

  void add_line_between(const char* style, double x1, double y1, double x2, double y2) {
    out_ += fmt::format("<path class=\"{}\" d=\"M{} {}L{} {}\"/>\n", style, px(x1), px(y1), px(x2),
                        px(y2));
  }

  void add_grid() {
    for (const bool minor : {true, false}) {  // major ticks are drawn over minor ones
      const char* style = minor ? "minor" : "grid";
      for (const ChartTick& t : x_.ticks)
        if (t.label.empty() == minor)
          add_line_between(style, x(t.value), top_, x(t.value), bottom_);
      for (const ChartTick& t : y_.ticks)
        if (t.label.empty() == minor)
          add_line_between(style, left_, y(t.value, y_), right_, y(t.value, y_));
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
        out_ += text_element(left_ - 8, y(t.value, y_) + 4, t.label, {.anchor = "end"});
    for (const ChartTick& t : right_y_.ticks)
      if (!t.label.empty()) out_ += text_element(right_ + 8, y(t.value, right_y_) + 4, t.label, {});
    add_line_between("axis", left_, bottom_, right_, bottom_);
    add_line_between("axis", left_, top_, left_, bottom_);
    if (chart_.right) add_line_between("axis", right_, top_, right_, bottom_);
    add_axis_titles();
  }

  void add_axis_titles() {
    const double most = chart_.right ? format_.width / 2 - 24 : format_.width - 40;
    const auto add = [&](const ChartAxis& axis, double x, double y, const char* anchor,
                         double width) {
      if (axis.label.empty()) return;
      const std::string title = axis_title(axis);
      out_ += text_element(x, y, shortened(title, 13, width), {.anchor = anchor, .style = "head"},
                           title);
    };
    add(chart_.x, (left_ + right_) / 2, bottom_ + 45, "middle", right_ - left_);
    add(chart_.y, 20, top_ - 12, "start", most);
    if (chart_.right) add(*chart_.right, format_.width - 20, top_ - 12, "end", most);
  }

  void add_series(std::size_t i) {
    const ChartSeries& s = series(i);
    out_ += fmt::format("<g class=\"{}\">\n", colour_class(i));
    if (s.line != ChartLine::none) add_line(s);
    std::set<std::pair<double, double>> drawn;
    for (const ChartPoint& p : s.points) {
      if (!has_markers(s) || !shown(s, p)) continue;
      const double px = x(p.x), py = y(p.y, scale(s));
      if (s.points.size() > most_distinct_markers &&
          !drawn.emplace(std::round(px / marker_cell), std::round(py / marker_cell)).second)
        continue;
      std::string tip = s.name;
      if (!p.label.empty()) tip += (tip.empty() ? "" : ": ") + p.label;
      if (!tip.empty()) tip += "; ";
      tip += value_text(p.x, chart_.x) + ", " + value_text(p.y, axis(s));
      out_ += fmt::format("<g><title>{}</title>{}</g>\n", xml_text(tip), marker(i, px, py));
    }
    out_ += "</g>\n";
  }

  // A nested frame clips values outside of a fixed range.
  void add_line(const ChartSeries& s) {
    std::string path;
    bool joined = false;
    for (const ChartPoint& p : thinned(s.points, [&](double v) { return x(v); })) {
      if (drawable(s, p)) {
        // Far outside, only the direction matters.
        const auto near = [](double v) { return px(std::clamp(v, -1e5, 1e5)); };
        const std::string at_x = near(x(p.x) - left_), at_y = near(y(p.y, scale(s)) - top_);
        path += joined && s.line == ChartLine::steps
                    ? fmt::format("H{}V{}", at_x, at_y)
                    : fmt::format("{}{} {}", joined ? "L" : "M", at_x, at_y);
      }
      joined = drawable(s, p);
    }
    out_ += fmt::format(
        "<svg x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" overflow=\"hidden\"><path d=\"{}\" {}/>"
        "</svg>\n",
        px(left_), px(top_), px(right_ - left_), px(bottom_ - top_), path, stroke(s));
  }

  const Chart& chart_;
  const ChartFormat& format_;
  ChartScale x_, y_, right_y_;
  std::vector<std::size_t> visible_;  // series with a point in the ranges
  double left_ = 0, right_ = 0, top_ = 0, bottom_ = 0;
  std::string out_;
};

}  // namespace

std::string to_svg(const Chart& chart, const ChartFormat& format) {
  return LineChart(chart, format).svg();
}

std::string to_svg(const AnyChart& chart, const ChartFormat& format) {
  return std::visit([&](const auto& c) { return to_svg(c, format); }, chart);
}

}  // namespace sten
