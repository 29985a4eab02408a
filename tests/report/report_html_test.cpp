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

TEST_CASE("HTML reports escape hostile names, notes, options and facts") {
  const std::string hostile =
      "</title></style></script><script>alert(1)</script><img src=x onerror=\"x\" "
      "'&amp;\x1b]0;\xff";
  Report r = pruned({hostile, "a&b", "\"><b>"});
  r.program = hostile;
  r.item = hostile;
  r.options = hostile;
  r.notes = {hostile};
  r.facts = {{"input", hostile}, {hostile, Cell(hostile)}};
  r.figures = {{hostile, Unit::text, "input"}};
  r.failure = hostile;
  const std::string html = to_html(r);
  const testing::Xml xml = parse(html);
  CHECK(xml.error == "");
  CHECK(xml.elements.at("script") == 1);
  CHECK(xml.elements.count("img") == 0);
  CHECK(has_text(xml, "a&b"));
  CHECK(has_text(xml, "<img src=x onerror=\"x\" '&amp;\\x1b]0;\\xff"));
}

TEST_CASE("an HTML report loads no external resources") {
  std::string html = to_html(pruned({"w"}));
  CHECK(html.find("default-src 'none'") != html.npos);
  const std::string name = "http://www.w3.org/2000/svg";
  for (std::size_t at; (at = html.find(name)) != html.npos;) html.erase(at, name.size());
  for (const char* word : {"http:", "https:", "//", "src=", "url(", "@import", "<link", "fetch"})
    CHECK(html.find(word) == html.npos);
}

TEST_CASE("HTML charts show the 12 largest rows, each for three screen widths") {
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) names.push_back("layer." + std::to_string(i));
  const std::string html = to_html(pruned(names));
  const testing::Xml xml = parse(html);
  CHECK(xml.error == "");
  CHECK(xml.elements.at("tr") == 100 + 2);
  CHECK(xml.elements.at("svg") == 3 * 3);  // sizes, sparsity, and its distribution
  CHECK(has_text(xml, "the 12 largest of 100 tensors"));
  const std::size_t chart = html.find("<svg");
  CHECK(html.find(">layer.88<", chart) != html.npos);
  CHECK(html.find(">layer.87<", chart) == html.npos);  // in the table its dot is a break
}

TEST_CASE("an HTML report of 100,000 tensors stays below 2 MB and counts the omitted tensors") {
  for (const std::size_t length : {1, 1000}) {
    std::vector<std::string> names;
    for (int i = 0; i < 100'000; ++i)
      names.push_back(std::string(length, 'w') + "." + std::to_string(i) + ".weight");
    const std::string html = to_html(pruned(names));
    CHECK(html.size() < 2'000'000);
    CHECK(parse(html).error == "");
    if (length > 1) continue;
    CHECK(html.find("The 1,000 largest of 100,000 tensors; 99,000 are left out here.") !=
          html.npos);
    CHECK(html.find("Distribution of sparsity over 100,000 tensors") != html.npos);
  }
}

TEST_CASE(
    "a report's own chart comes before the row charts, and is the only chart without a total") {
  Report r = pruned({"n:m", "n:m", "n:m"});
  r.charts = {Chart{.title = "energy at a sparsity"}};
  const std::string html = to_html(r);
  const testing::Xml both = parse(html);
  CHECK(both.error == "");
  CHECK(both.elements.at("figure") == 3);
  CHECK(html.find("energy at a sparsity") < html.find("Size"));
  r.total.clear();
  const testing::Xml alone = parse(to_html(r));
  CHECK(alone.error == "");
  CHECK(alone.elements.at("figure") == 1);
  CHECK(has_text(alone, "energy at a sparsity"));
}

TEST_CASE(
    "key figures come first with their changes, and figures that were not measured are omitted") {
  Report r = pruned({"w"});
  r.facts = {{"loss", 0.5}, {"loss_before", 2.0}, {"accuracy", 0.9}, {"accuracy_before", 0.91}};
  r.at(r.total, "elements") = Index{1254400};
  r.figures = {{"test loss", Unit::ratio, "loss", "loss_before", Better::lower},
               {"test accuracy", Unit::fraction, "accuracy", "accuracy_before", Better::higher},
               {"all elements", Unit::count, "total/elements"},
               {"perplexity", Unit::measured, "perplexity"}};
  const std::string html = to_html(r);
  CHECK(html.find("test loss") < html.find("<svg"));
  CHECK(html.find("before 2.0000 <span class=\"good\">\xe2\x88\x92"
                  "75.0 %</span>") != html.npos);
  CHECK(html.find("before 91.00 % <span class=\"bad\">\xe2\x88\x92"
                  "1.00 points</span>") != html.npos);
  CHECK(html.find("<dd class=\"value\">1,254,400</dd>") != html.npos);
  CHECK(html.find("perplexity") == html.npos);
}

TEST_CASE("long names are shown without common prefix and suffix, and in full to screen readers") {
  const std::string name = "bert.encoder.layer.0.attention.self.query.weight";
  const std::string html =
      to_html(pruned({name, "bert.encoder.layer.1.attention.self.key.weight"}));
  CHECK(html.find("<th scope=\"row\" class=\"name\" title=\"" + name + "\" aria-label=\"" + name +
                  "\" data-v=\"" + name +
                  "\">\xe2\x80\xa6"
                  "0.<wbr/>attention.<wbr/>self.<wbr/>query\xe2\x80\xa6</th>") != html.npos);
  CHECK(html.find("stands for <code>bert.encoder.layer.</code>") != html.npos);
  CHECK(html.find("stands for <code>.weight</code>") != html.npos);
}

TEST_CASE("an HTML report without rows, columns or values is well-formed") {
  CHECK(parse(to_html(Report{})).error == "");
  const testing::Xml none = parse(to_html(pruned({})));
  CHECK(none.error == "");
  Report failed = pruned({"only a name"});
  failed.rows[0].assign(failed.columns.size(), Cell());
  failed.rows[0][0] = std::string("only a name");
  CHECK(parse(to_html(failed)).error == "");
}

TEST_CASE("numeric HTML cells have the class num and their exact value as sort key") {
  const std::string html = to_html(pruned({"w"}));
  CHECK(html.find("<td class=\"num\" data-v=\"6\">2x3</td>") != html.npos);
  CHECK(html.find("<td class=\"num\" data-v=\"0.5\">50.00</td>") != html.npos);
  CHECK(html.find("<td class=\"num\" data-v=\"1000\">1.00</td>") != html.npos);
  CHECK(html.find(">before (kB)</th>") != html.npos);
  CHECK(html.find(">sparsity (%)</th>") != html.npos);
  CHECK(count(html, "<th scope=\"col\" class=\"num\">") == 3);
}
