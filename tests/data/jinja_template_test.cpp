// SPDX-License-Identifier: Apache-2.0
// Templates give the texts of jinja2 in the environment of transformers (jinja_reference.py).
#include "libsten/data/jinja/jinja_template.h"

#include <doctest/doctest.h>

#include <fstream>

#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

std::string error(const std::string& text) {
  return error_of([&] { JinjaTemplate(text, "t").render({{"n", 7}, {"word", "a"}}); });
}
std::string repeated(std::string_view what, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += what;
  return all;
}

}  // namespace

TEST_CASE("rendered expressions and statements match jinja2") {
  std::ifstream in(STEN_SOURCE_DIR "/tests/data/jinja_cases.json");
  const auto all = nlohmann::ordered_json::parse(in);
  REQUIRE(all.at("cases").size() > 120);
  for (const auto& c : all.at("cases")) {
    const auto text = c.at("template").get<std::string>();
    CAPTURE(text);
    CHECK(JinjaTemplate(text, "t").render(all.at("variables")) == c.at("text").get<std::string>());
  }
}

TEST_CASE("invalid and unsupported template syntax is reported with its line") {
  CHECK(error("a\n{{ 1 +") == "t: line 2: unterminated tag");
  CHECK(error("{{ 1 + }}") == "t: line 1: unexpected end");
  CHECK(error("{{ 'a }}") == "t: line 1: unterminated string");
  CHECK(error("{# a") == "t: line 1: unterminated comment");
  CHECK(error("{% for x in y %}") == "t: line 1: missing endfor");
  CHECK(error("{% endif %}") == "t: line 1: unexpected endif");
  CHECK(error("{% import 'x' %}") == "t: line 1: unsupported statement import");
  CHECK(error("{{ n | sum }}") == "t: line 1: unsupported filter sum");
  CHECK(error("{{ n is divisibleby(3) }}") == "t: line 1: unsupported test divisibleby");
  CHECK(error("{{ lipsum() }}") == "t: line 1: unsupported function lipsum");
  CHECK(error("{{ word.encode() }}") == "t: line 1: unsupported method encode");
  CHECK(error("{{ x.y }}") == "t: line 1: undefined value has no member y");
  CHECK(error("{{ n + word }}") == "t: line 1: operator + does not take number and string");
  CHECK(error("{{ 'é' | upper }}") == "t: line 1: upper: supported for ASCII only");
  CHECK(error("{{ n // 0 }}") == "t: line 1: division by 0");
  CHECK(error("\n{{ raise_exception('No!') }}") == "t: line 2: No!");
  CHECK(error("{{ raise_exception('a\\nb') }}") == "t: line 1: a\\nb");
}

TEST_CASE("templates are limited in steps, memory and nesting depth") {
  const std::string loop = "{% for i in range(1000) %}", end = "{% endfor %}";
  CHECK(error(loop + loop + "x" + end + end) == "t: line 1: more than 1000000 steps");
  CHECK(error("{{ range(1000000000) }}") == "t: line 1: more than 1000000 steps");
  CHECK(has(error("{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}"), "too many levels"));
  CHECK(has(error(repeated("{% if n %}", 5000)), "too many levels"));
  CHECK(has(error("{{ " + repeated("(", 5000) + " }}"), "too many levels"));
  CHECK(has(error("{{ " + repeated("not ", 5000) + "n }}"), "too many levels"));
  CHECK(has(error("{% set x = 'aaaaaaaaaaaaaaaa' %}" + repeated("{% set x = x + x + x + x %}", 20) +
                  "{{ x }}"),
            "more than"));
  CHECK(
      error("{% set x = [1] %}{% for i in range(200) %}{% set ns = namespace(x=[1]) %}{% for j in "
            "range(200) %}{% set ns.x = [ns.x] %}{% endfor %}{% endfor %}") ==
      "t: line 1: values are too large or too deeply nested");
  CHECK(error(repeated("{% set word = [word, word, word, word] %}", 15)) ==
        "t: line 1: values are too large or too deeply nested");
}
