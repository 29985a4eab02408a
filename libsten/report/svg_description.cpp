// SPDX-License-Identifier: Apache-2.0
// Charts in words, for readers who do not see them.
#include <fmt/format.h>

#include <algorithm>

#include "libsten/report/svg_chart.h"

namespace sten {
namespace {

constexpr std::size_t most_sentences = 8;  // the others are counted

std::string joined(const std::vector<std::string>& sentences, const char* noun) {
  std::string out;
  for (std::size_t i = 0; i < std::min(sentences.size(), most_sentences); ++i)
    out += (i ? " " : "") + sentences[i];
  if (sentences.size() > most_sentences)
    out += fmt::format(" And {} more {}.", sentences.size() - most_sentences, noun);
  return out;
}

std::string sentence(const Chart& chart, const ChartSeries& s) {
  const ChartAxis& axis = s.on_right && chart.right ? *chart.right : chart.y;
  std::vector<ChartPoint> points;
  for (const ChartPoint& p : s.points)
    if (drawable(p.x, chart.x) && drawable(p.y, axis)) points.push_back(p);
  if (points.empty()) return "";
  const auto at = [&](const ChartPoint& p) {
    return fmt::format("{} at {}{}", value_text(p.y, axis),
                       chart.x.label.empty() ? "" : chart.x.label + " ", value_text(p.x, chart.x));
  };
  const std::string name = s.name.empty() ? axis.label : s.name;
  if (points.size() == 1) return fmt::format("{}: {}.", name, at(points.front()));
  const auto [low, high] = std::ranges::minmax_element(points, {}, &ChartPoint::y);
  return fmt::format("{}: from {} to {}; lowest {}, highest {}.", name, at(points.front()),
                     at(points.back()), at(*low), at(*high));
}

}  // namespace

std::string description_of(const Chart& chart) {
  std::vector<std::string> sentences;
  for (const ChartSeries& s : chart.series)
    if (std::string text = sentence(chart, s); !text.empty()) sentences.push_back(std::move(text));
  return joined(sentences, "lines");
}

std::string description_of(const BarChart& chart) {
  std::vector<std::string> sentences;
  for (std::size_t i = 0; i < std::max<std::size_t>(chart.series.size(), 1); ++i) {
    const BarChart::Group *low = nullptr, *high = nullptr;
    for (const BarChart::Group& g : chart.groups) {
      if (i >= g.values.size() || !drawable(g.values[i], chart.axis)) continue;
      if (!low || g.values[i] < low->values[i]) low = &g;
      if (!high || g.values[i] > high->values[i]) high = &g;
    }
    if (!low) continue;
    const std::string name = i < chart.series.size() ? chart.series[i] : chart.axis.label;
    sentences.push_back(fmt::format("{}{}bars of {}: lowest {} ({}), highest {} ({}).", name,
                                    name.empty() ? "" : ", ", chart.groups.size(),
                                    value_text(low->values[i], chart.axis), low->name,
                                    value_text(high->values[i], chart.axis), high->name));
  }
  return joined(sentences, "series");
}

}  // namespace sten
