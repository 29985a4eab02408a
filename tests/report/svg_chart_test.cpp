// SPDX-License-Identifier: Apache-2.0
#include "libsten/report/svg_chart.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "libsten/report/chart_axis.h"
#include "libsten/report/chart_points.h"
#include "libsten/report/svg.h"
#include "tests/support/xml.h"

using namespace sten;

namespace {

std::vector<std::string> labels(const ChartScale& s) {
  std::vector<std::string> out;
  for (const ChartTick& t : s.ticks)
    if (!t.label.empty()) out.push_back(t.label);
  return out;
}

using Labels = std::vector<std::string>;

bool has_exact_text(const testing::Xml& xml, const std::string& text) {
  return std::find(xml.texts.begin(), xml.texts.end(), text) != xml.texts.end();
}

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("linear ticks are multiples of 1, 2 or 5 that enclose the data") {
  CHECK(labels(chart_scale({}, {0.1, 0.93}, 5)) == Labels{"0", "0.2", "0.4", "0.6", "0.8", "1.0"});
  CHECK(labels(chart_scale({}, {-3, 12}, 4)) == Labels{"-5", "0", "5", "10", "15"});
  CHECK(labels(chart_scale({}, {2e6, 8e6}, 4)) == Labels{"2M", "4M", "6M", "8M"});
  CHECK(labels(chart_scale({}, {0.00012, 0.00031}, 2)) ==
        Labels{"0.0001", "0.0002", "0.0003", "0.0004"});
}

TEST_CASE("tick labels of percent and byte axes have units") {
  CHECK(labels(chart_scale({.numbers = ChartNumberFormat::percent}, {0.5, 0.9}, 4)) ==
        Labels{"50 %", "60 %", "70 %", "80 %", "90 %"});
  CHECK(labels(chart_scale({.numbers = ChartNumberFormat::percent}, {0.985, 1}, 3)) ==
        Labels{"98.5 %", "99.0 %", "99.5 %", "100.0 %"});
  CHECK(labels(chart_scale({.numbers = ChartNumberFormat::bytes}, {0, 2.4e6}, 5)) ==
        Labels{"0", "0.5 MB", "1.0 MB", "1.5 MB", "2.0 MB", "2.5 MB"});
}

TEST_CASE("a fixed axis range is kept, and values outside of it are excluded") {
  const ChartScale s = chart_scale({.range = {{0.3, 0.72}}}, {-5, 5}, 4);
  CHECK(s.low == 0.3);
  CHECK(s.high == 0.72);
  CHECK(labels(s) == Labels{"0.4", "0.6"});
  CHECK(s.has(0.3));
  CHECK(!s.has(0.73));
  CHECK(!s.has(not_a_number));
  CHECK(chart_scale({.range = {{2, 1}}}, {0, 1}, 5).high == 1);  // an inverted range is ignored
}

TEST_CASE("logarithmic ticks are powers of ten, or 2 and 5 times these, and ignore values <= 0") {
  const ChartAxis log = {.log = true};
  CHECK(labels(chart_scale(log, {0.02, 0, -3, 500}, 5)) ==
        Labels{"0.01", "0.1", "1", "10", "100", "1000"});
  CHECK(labels(chart_scale(log, {20, 70}, 5)) == Labels{"10", "20", "50", "100"});
  CHECK(labels(chart_scale(log, {1e-12, 1e12}, 5)).size() <= 9);
  CHECK(chart_scale(log, {1, 100}, 5).place(10) == doctest::Approx(0.5));
}

TEST_CASE("any values, including NaN and infinity, give a finite axis with few ticks") {
  for (const std::vector<double>& values :
       std::vector<std::vector<double>>{{},
                                        {0},
                                        {not_a_number, inf, -inf},
                                        {7},
                                        {-7, -7},
                                        {1e-320},
                                        {1e299, -1e299},
                                        {1e308, -1e308},
                                        {1, 1 + 1e-15},
                                        {1e18, 1e18 + 4096}})
    for (const bool log : {false, true})
      for (const ChartNumberFormat numbers :
           {ChartNumberFormat::plain, ChartNumberFormat::percent, ChartNumberFormat::bytes}) {
        const ChartAxis axis = {.log = log, .numbers = numbers};
        const ChartScale s = chart_scale(axis, values, 6);
        CAPTURE(log);
        CAPTURE(values);
        CHECK(s.low < s.high);
        CHECK(s.ticks.size() >= 2);
        CHECK(s.ticks.size() <= 50);
        for (const ChartTick& t : s.ticks) CHECK(s.has(t.value));
        for (const double v : values)
          if (drawable(v, axis)) CHECK(s.has(v));
      }
}

TEST_CASE("charts with hostile names are well-formed XML without scripts") {
  const std::string hostile = "</text><script>alert('&\"')</script>\x01\xff\n]]>\xef\xbf\xbf";
  const Chart chart = {.title = hostile,
                       .subtitle = hostile,
                       .x = {.label = hostile, .unit = hostile},
                       .y = {.label = hostile},
                       .series = {{.name = hostile, .points = {{1, 2, hostile}, {2, 3}}}}};
  const testing::Xml xml(to_svg(chart));
  CHECK(xml.error == "");
  CHECK(xml.elements.count("script") == 0);
  CHECK(xml.elements.at("svg") == 2);  // the chart and the frame of a line
  const BarChart bars = {.title = hostile,
                         .axis = {.label = hostile},
                         .series = {hostile, "b"},
                         .groups = {{.name = hostile, .values = {1, 2}}}};
  const testing::Xml bars_xml(to_svg(bars));
  CHECK(bars_xml.error == "");
  CHECK(bars_xml.elements.count("script") == 0);
}

TEST_CASE("an SVG chart has no external references") {
  std::string svg = to_svg(Chart{.title = "t", .series = {{.name = "a", .points = {{1, 2}}}}});
  const std::string name = "http://www.w3.org/2000/svg";
  svg.erase(svg.find(name), name.size());
  for (const char* word : {"http", "url(", "href", "@import", "<script", " id="})
    CHECK(svg.find(word) == std::string::npos);
}

TEST_CASE(
    "NaN and infinite points are not drawn, and series without finite points are not listed") {
  const Chart chart = {
      .series = {
          {.name = "a", .points = {{0, 1}, {1, 2}, {2, not_a_number}, {3, 4}, {inf, 5}, {4, 6}}},
          {.name = "empty"},
          {.name = "not one", .points = {{not_a_number, not_a_number}}}}};
  const std::string svg = to_svg(chart);
  const testing::Xml xml(svg);
  CHECK(xml.error == "");
  CHECK(xml.elements.at("circle") == 4 + 1);  // and in the legend
  CHECK(has_exact_text(xml, "a"));
  CHECK(!has_exact_text(xml, "empty"));
  CHECK(!has_exact_text(xml, "not one"));
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("inf") == std::string::npos);
}

TEST_CASE("an empty chart shows the text \"no data\"") {
  for (const std::string& svg :
       {to_svg(Chart{}), to_svg(Chart{.series = {{.name = "a"}}}), to_svg(BarChart{}),
        to_svg(BarChart{.groups = {{.name = "a", .values = {not_a_number}}}})}) {
    const testing::Xml xml(svg);
    CHECK(xml.error == "");
    CHECK(has_exact_text(xml, "no data"));
  }
}

TEST_CASE("tooltips of points show the series, label and values") {
  const testing::Xml xml(
      to_svg(Chart{.x = {.numbers = ChartNumberFormat::percent},
                   .series = {{.name = "n:m", .points = {{0.5, 0.75, "2:4"}}}}}));
  CHECK(has_exact_text(xml, "n:m: 2:4; 50.00 %, 0.75"));
}

TEST_CASE("bar lengths are proportional to their values") {
  const std::string svg = to_svg(
      BarChart{.series = {"before", "after"}, .groups = {{.name = "w", .values = {400, 100}}}});
  std::vector<double> widths;
  for (std::size_t at = 0; (at = svg.find("<rect class=\"c", at)) != svg.npos; ++at) {
    const std::size_t w = svg.find("width=\"", at) + 7;
    widths.push_back(std::stod(svg.substr(w)));
  }
  REQUIRE(widths.size() == 4);  // two of the legend first
  CHECK(widths[2] == doctest::Approx(4 * widths[3]).epsilon(0.01));
}

TEST_CASE("long names are shortened in the middle to the available width") {
  CHECK(shortened("short", 12, 100) == "short");
  const std::string name = "bert.encoder.layer.0.attention.output.dense.weight";
  const std::string s = shortened(name, 12, 150);
  CHECK(text_width(s, 12) <= 150);
  CHECK(s.starts_with("bert."));
  CHECK(s.ends_with("weight"));
  CHECK(s.find("\xe2\x80\xa6") != s.npos);
  const testing::Xml xml(
      to_svg(BarChart{.groups = {{.name = std::string(500, 'w'), .values = {1}}}}));
  CHECK(has_exact_text(xml, std::string(500, 'w')));  // in the tooltip
}

TEST_CASE("long text is wrapped between words, and within words that are too long") {
  CHECK(wrapped("", 10, 100).empty());
  CHECK(wrapped("one two", 10, 1000) == std::vector<std::string>{"one two"});
  const auto lines = wrapped("aaaa bbbb cccc " + std::string(100, 'd'), 10, 60);
  CHECK(lines.size() > 3);
  for (const std::string& line : lines) CHECK(text_width(line, 10) <= 60);
}

TEST_CASE("to_svg is deterministic") {
  const Chart chart = {.title = "t", .series = {{.name = "a", .points = {{1, 2}, {0.1, 1.0 / 3}}}}};
  CHECK(to_svg(chart) == to_svg(chart));
}

TEST_CASE("ChartLine::steps draws a staircase, and the default draws straight lines") {
  const std::vector<ChartPoint> points = {{0, 0}, {1, 1}};
  const std::string steps =
      to_svg(Chart{.series = {{.points = points, .line = ChartLine::steps, .markers = false}}});
  const std::string straight = to_svg(Chart{.series = {{.points = points, .markers = false}}});
  const auto line = [](const std::string& svg) {
    const std::size_t at = svg.find("<path d=\"M0 ");
    return svg.substr(at, svg.find("\" fill", at) - at);
  };
  CHECK(line(steps).find('L') == std::string::npos);
  CHECK(line(steps).find('H') < line(steps).find('V'));
  CHECK(line(straight).find('L') != std::string::npos);
}

TEST_CASE("a series on the right axis has a separate scale") {
  const testing::Xml xml(to_svg(Chart{
      .y = {.label = "loss"},
      .right =
          ChartAxis{.label = "sparsity", .range = {{0, 1}}, .numbers = ChartNumberFormat::percent},
      .series = {{.name = "a", .points = {{0, 1000}, {1, 2000}}},
                 {.name = "b", .points = {{0, 0}, {1, 0.5}}, .on_right = true}}}));
  CHECK(xml.error == "");
  CHECK(has_exact_text(xml, "100 %"));
  CHECK(has_exact_text(xml, "2000"));
  CHECK(has_exact_text(xml, "b; 1, 50.00 %"));
}

TEST_CASE("a million points are thinned to a small drawing that keeps the extreme value") {
  ChartSeries series{.name = "a", .markers = false};
  for (int i = 0; i < 1'000'000; ++i)
    series.points.push_back({static_cast<double>(i), i == 123'456 ? 1000.0 : i % 7});
  const Chart chart = {.series = {series}};
  const std::string svg = to_svg(chart);
  CHECK(svg.size() < 100'000);
  const auto few = thinned(series.points, [](double x) { return x / 1000; });
  CHECK(few.size() <= 4 * 1000);
  CHECK(std::ranges::count(few, 1000.0, &ChartPoint::y) == 1);
  CHECK(thinned({{0, 1}, {0, not_a_number}, {0, 2}}, [](double x) { return x; }).size() == 3);
}

TEST_CASE("pareto_front returns the points that no cheaper point reaches") {
  using Front = std::vector<std::size_t>;
  CHECK(pareto_front({}).empty());
  CHECK(pareto_front({{2, 5}, {1, 3}, {3, 4}, {3, 6}, {not_a_number, 9}}) == Front{1, 0, 3});
  CHECK(pareto_front({{1, 1}, {1, 1}}) == Front{0});  // the first of equal points
}

TEST_CASE("narrow bar charts place names above the bars and fit the width") {
  const BarChart chart = {.groups = {{.name = "layers.0.weight", .values = {1}}}};
  const auto y = [](const std::string& svg, std::string_view of) {
    const std::size_t at = svg.rfind(" y=\"", svg.find(of)) + 4;
    return std::stod(svg.substr(at));
  };
  const std::string svg = to_svg(chart, {.width = 350});
  CHECK(svg.find("viewBox=\"0 0 350 ") != svg.npos);
  CHECK(svg.find("text-anchor=\"end\"") == svg.npos);
  CHECK(y(svg, ">layers.0.weight<") < y(svg, " width=\"2"));
  CHECK(to_svg(chart).find("text-anchor=\"end\"") != svg.npos);
}

TEST_CASE("charts have a text description with the lowest and highest values") {
  CHECK(description_of(Chart{.x = {.label = "step"},
                             .series = {{.name = "loss", .points = {{0, 2}, {5, 0.5}, {9, 1}}}}}) ==
        "loss: from 2 at step 0 to 1 at step 9; lowest 0.5 at step 5, highest 2 at step 0.");
  CHECK(description_of(BarChart{.axis = {.numbers = ChartNumberFormat::percent},
                                .series = {"energy"},
                                .groups = {{"a", {0.5}}, {"b", {0.25}}}}) ==
        "energy, bars of 2: lowest 25.00 % (b), highest 50.00 % (a).");
  const testing::Xml xml(to_svg(Chart{.series = {{.name = "a", .points = {{1, 2}}}}}));
  CHECK(xml.elements.at("desc") == 1);
}
