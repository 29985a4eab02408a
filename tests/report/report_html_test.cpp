// SPDX-License-Identifier: Apache-2.0
#include "libsten/report/report_html.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "libsten/programs/prune/prune_report.h"
#include "tests/support/xml.h"

using namespace sten;

namespace {

// Except for its first line, the page is XML.
testing::Xml parse(const std::string& html) {
  const std::string first = "<!DOCTYPE html>\n";
  REQUIRE(html.starts_with(first));
  return testing::Xml(std::string_view(html).substr(first.size()));
}

Report pruned(const std::vector<std::string>& names) {
  Report r = prune_report();
  Index number = 0;
  for (const std::string& name : names) {
    std::vector<Cell> row;
    r.at(row, "name") = name;
    r.at(row, "shape") = Shape{2, 3};
    r.at(row, "sparsity") = 0.5;
    r.at(row, "bytes_before") = ++number * 1000;
    r.rows.push_back(row);
  }
  r.at(r.total, "name") = std::string("total");
  return r;
}

int count(std::string_view text, std::string_view word) {
  int n = 0;
  for (std::size_t at = 0; (at = text.find(word, at)) != text.npos; at += word.size()) ++n;
  return n;
}

bool has_text(const testing::Xml& xml, std::string_view part) {
  return std::any_of(xml.texts.begin(), xml.texts.end(),
                     [&](const std::string& t) { return t.find(part) != t.npos; });
}

}  // namespace

TEST_CASE("names, notes, options and facts from hostile files are text in a page") {
  const std::string hostile =
      "</title></style></script><script>alert(1)</script><img src=x onerror=\"x\" "
      "'&amp;\x1b]0;\xff";
  Report r = pruned({hostile, "a&b", "\"><b>"});
  r.program = hostile;
  r.item = hostile;
  r.options = hostile;
  r.notes = {hostile};
  r.facts = {{"input", hostile}, {hostile, Cell(hostile)}};
  const std::string html = to_html(r);
  const testing::Xml xml = parse(html);
  CHECK(xml.error == "");
  CHECK(xml.elements.at("script") == 1);
  CHECK(xml.elements.count("img") == 0);
  CHECK(xml.elements.count("b") == xml.elements.at("span"));  // the totals
  CHECK(has_text(xml, "a&b"));
  CHECK(has_text(xml, "<img src=x onerror=\"x\" '&amp;\\x1b]0;\\xff"));
}

TEST_CASE("a page loads nothing from anywhere") {
  std::string html = to_html(pruned({"w"}));
  CHECK(html.find("default-src 'none'") != html.npos);
  const std::string name = "http://www.w3.org/2000/svg";
  for (std::size_t at; (at = html.find(name)) != html.npos;) html.erase(at, name.size());
  for (const char* word : {"http:", "https:", "//", "src=", "url(", "@import", "<link", "fetch"})
    CHECK(html.find(word) == html.npos);
}

TEST_CASE("a page has every row in its table and the largest ones in its charts") {
  std::vector<std::string> names;
  for (int i = 0; i < 10000; ++i) names.push_back("layer." + std::to_string(i));
  const std::string html = to_html(pruned(names));
  const testing::Xml xml = parse(html);
  CHECK(xml.error == "");
  CHECK(xml.elements.at("tr") == 10000 + 2);
  CHECK(xml.elements.at("svg") == 2);
  CHECK(has_text(xml, "the 20 largest of 10000 tensors"));
  const std::size_t chart = html.find("<svg");
  CHECK(html.find(">layer.9980<", chart) != html.npos);
  CHECK(html.find(">layer.9979<", chart) == html.npos);  // in the table its dot is a break
}

TEST_CASE(
    "a page has the report's own chart before the bars of its rows, and alone without a total") {
  Report r = pruned({"n:m", "n:m", "n:m"});
  r.chart = "<svg xmlns=\"http://www.w3.org/2000/svg\"><text>energy at a sparsity</text></svg>\n";
  const testing::Xml both = parse(to_html(r));
  CHECK(both.error == "");
  CHECK(both.elements.at("svg") == 3);
  CHECK(has_text(both, "energy at a sparsity"));
  r.total.clear();
  const testing::Xml alone = parse(to_html(r));
  CHECK(alone.error == "");
  CHECK(alone.elements.at("svg") == 1);
  CHECK(has_text(alone, "energy at a sparsity"));
}

TEST_CASE("a page without rows, columns or numbers is a page") {
  CHECK(parse(to_html(Report{})).error == "");
  const testing::Xml none = parse(to_html(pruned({})));
  CHECK(none.error == "");
  Report failed = pruned({"only a name"});
  failed.rows[0].assign(failed.columns.size(), Cell());
  failed.rows[0][0] = std::string("only a name");
  CHECK(parse(to_html(failed)).error == "");
}

TEST_CASE("numbers are aligned to the right and sort by their exact value") {
  const std::string html = to_html(pruned({"w"}));
  CHECK(html.find("<td class=\"num\" data-v=\"6\">2x3</td>") != html.npos);
  CHECK(html.find("<td class=\"num\" data-v=\"0.5\">50.00 %</td>") != html.npos);
  CHECK(html.find("<td class=\"num\" data-v=\"1000\">1.00 kB</td>") != html.npos);
  CHECK(count(html, "<th scope=\"col\" class=\"num\">") == 3);
}
