// SPDX-License-Identifier: Apache-2.0
#include "libsten/report/report.h"

#include <doctest/doctest.h>

#include "libsten/programs/prune/prune_report.h"
#include "libsten/report/short_names.h"
#include "tests/support/bad_input.h"

using namespace sten;
using namespace sten::testing;

namespace {

Report named(const std::vector<std::string>& names) {
  Report r = prune_report();
  for (const std::string& name : names) {
    std::vector<Cell> row;
    r.at(row, "name") = name;
    r.at(row, "shape") = Shape{2, 3};
    r.at(row, "energy") = -0.5;
    r.rows.push_back(row);
  }
  return r;
}

std::string first_line_after_header(const std::string& text, int header_lines) {
  std::size_t at = 0;
  for (int i = 0; i < header_lines; ++i) at = text.find('\n', at) + 1;
  return text.substr(at, text.find('\n', at) - at);
}

std::string csv_line(const std::string& name) {
  return first_line_after_header(to_csv(named({name})), 1);
}

std::string markdown_cell(const std::string& name) {
  const std::string line = first_line_after_header(to_markdown(named({name})), 2);
  return line.substr(2, line.find(" | 2x3 |") - 2);
}

}  // namespace

TEST_CASE("CSV reports escape names that a spreadsheet would read as formulas, but not numbers") {
  for (const std::string name : {"=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0"}) {
    CAPTURE(name);
    CHECK(held(86, csv_line(name).starts_with("'" + name + ",")));
    CHECK(csv_line(name).find(",-0.5,") != std::string::npos);
  }
  CHECK(csv_line("\t=1").starts_with("\"'\t=1\","));
  CHECK(csv_line("=HYPERLINK(\"x\")").starts_with("\"'=HYPERLINK(\"\"x\"\")\","));
  // Split at the separator, the second cell would start with "=".
  CHECK(csv_line("a,=1").starts_with("\"a,=1\","));
  CHECK(csv_line("a;=1").starts_with("\"a;=1\","));
  CHECK(csv_line("a\t=1").starts_with("\"a\t=1\","));
  CHECK(csv_line("layer.0-x=y").starts_with("layer.0-x=y,"));
}

TEST_CASE("measured values have three significant digits, or all digits of a large integer part") {
  const auto shown = [](double v) { return shown_cell(v, Unit::measured); };
  CHECK(shown(0) == "0");
  CHECK(shown(12.345) == "12.3");
  CHECK(shown(12345.6) == "12346");
  CHECK(shown(0.00001234) == "0.0000123");
  CHECK(shown(1.234e-7) == "1.23e-07");
  CHECK(shown(1.234e30) == "1.23e+30");
}

TEST_CASE("names and notes are escaped in Markdown reports") {
  CHECK(markdown_cell("a|b") == "a\\|b");
  CHECK(markdown_cell("a\\|b") == "a\\\\\\|b");
  CHECK(markdown_cell("`x`") == "\\`x\\`");
  CHECK(markdown_cell("<script>x</script>") == "\\<script\\>x\\</script\\>");
  CHECK(markdown_cell("**a** _b_ ~~c~~") == "\\*\\*a\\*\\* \\_b\\_ \\~\\~c\\~\\~");
  CHECK(markdown_cell("[a](javascript:x)") == "\\[a\\](javascript:x)");
  CHECK(markdown_cell("![a](http://x)") == "\\!\\[a\\](http\\://x)");
  CHECK(markdown_cell("https://x www.x.y") == "https\\://x www\\.x.y");
  CHECK(markdown_cell("&lt;") == "\\&lt;");
  CHECK(markdown_cell("a\nb\x1b[31m") == "a\\\\nb\\\\x1b\\[31m");
  CHECK(markdown_cell("a\u202eb") == "a\\\\u202eb");
  CHECK(markdown_cell("encoder.layer.0.weight") == "encoder.layer.0.weight");
  Report r = named({"w"});
  r.notes = {"# not a heading", "- x\n\n<b>"};
  const std::string text = to_markdown(r);
  CHECK(text.find("\n\\# not a heading\n") != std::string::npos);
  CHECK(text.find("\n\\- x\\\\n\\\\n\\<b\\>\n") != std::string::npos);
}

TEST_CASE("text reports contain no terminal control characters") {
  Report r = named({"a\x1b]0;x\x07"});
  r.notes = {"b\x1b[31m\u202e"};
  const std::string text = to_text(r);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('\x07') == std::string::npos);
  CHECK(text.find("\u202e") == std::string::npos);
}

TEST_CASE("value_at finds a value by its path in the JSON report") {
  Report r = named({"a", "b"});
  r.facts = {{"validation/loss", 0.5}};
  r.at(r.total, "energy") = 0.25;
  CHECK(value_at(r, "validation/loss") == Cell(0.5));
  CHECK(value_at(r, "total/energy") == Cell(0.25));
  CHECK(value_at(r, "tensors/1/name") == Cell("b"));
  for (const char* none : {"", "loss", "total/", "total/none", "tensors/2/name", "tensors/x/name",
                           "tensors/1", "tensors/1name", "total/bytes_after"})
    CHECK(value_at(r, none) == Cell());
}

TEST_CASE("shared_ends finds the common prefix and suffix of names up to separators") {
  const auto ends = [](const std::vector<std::string>& names) {
    const SharedEnds e = shared_ends(names);
    return e.prefix + "|" + e.suffix;
  };
  CHECK(ends({"layer.10.key.weight", "layer.11.query.weight"}) == "layer.|.weight");
  CHECK(ends({"a.weight", "ab.weight"}) == "|.weight");
  CHECK(ends({"a", "b"}) == "|");
  CHECK(ends({"layer.0", "layer.0"}) == "|");  // one name
  CHECK(ends({}) == "|");
  CHECK(ends({"a.b", "a.b.b"}) == "a.|");  // the ends of a name do not overlap
  CHECK(without({"a.", ".c"}, "a.b.c") == "…b…");
}

TEST_CASE("the main chart shows the fractions of a report, and \"no data\" for an empty report") {
  Report empty;
  empty.program = "sten-run";
  const std::string svg = to_svg(main_chart(empty));
  CHECK(svg.find("no data") != svg.npos);
  Report r;
  r.facts = {{"accuracy", 0.75}, {"loss", 2.0}};
  r.figures = {{"accuracy", Unit::fraction, "accuracy"}, {"loss", Unit::ratio, "loss"}};
  const auto chart = std::get<BarChart>(main_chart(r));
  REQUIRE(chart.groups.size() == 1);  // only the fraction
  CHECK(chart.groups[0].values == std::vector{0.75});
}
