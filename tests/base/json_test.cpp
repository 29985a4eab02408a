// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/json.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "libsten/core/base/json_reader.h"
#include "libsten/core/base/text.h"
#include "libsten/core/base/utf8.h"

using namespace sten;

namespace {

std::string error(std::string_view text, Fault fault = Fault::input) {
  try {
    parse_json(text, "it", fault);
    return "";
  } catch (const Error& e) {
    CHECK(e.fault() == fault);
    return e.what();
  }
}
std::string nested(int levels, const char* open, const char* close) {
  std::string text;
  for (int i = 0; i < levels; ++i) text += open;
  text += "1";
  for (int i = 0; i < levels; ++i) text += close;
  return text;
}

}  // namespace

TEST_CASE("JSON documents round-trip unchanged, with keys in their original order") {
  for (const char* text : {"null", "[]", "{}", "-1", "18446744073709551615", "0.1", "\"a\\u0001\"",
                           R"({"b":[1,{"c":[]},"x"],"a":{"b":true,"c":null}})"}) {
    CAPTURE(text);
    CHECK(dump_json(parse_json(text, "it")) == text);
    CHECK(is_json(text));
  }
}

TEST_CASE("nesting deeper than 64 levels is rejected") {
  CHECK(error(nested(64, "[", "]")).empty());
  CHECK(error(nested(64, "{\"a\":", "}")).empty());
  CHECK(error(nested(65, "[", "]")) == "it: nested too deeply");
  CHECK(error(nested(65, "{\"a\":", "}")) == "it: nested too deeply");
  CHECK(error(std::string(1'000'000, '[')) == "it: nested too deeply");
  CHECK(error(nested(100'000, "[{\"a\":", "}]"), Fault::usage) == "it: nested too deeply");
}

TEST_CASE("invalid JSON is rejected with the position or the cause") {
  CHECK(error("") == "it: not JSON at line 1, column 1");
  CHECK(error("{\n  \"a\": 1,\n  b") == "it: not JSON at line 3, column 3");
  CHECK(error("{\"a\": 1,\n}") == "it: not JSON at line 2, column 1: unexpected comma before }");
  CHECK(error("[1, ]") == "it: not JSON at line 1, column 5: unexpected comma before ]");
  CHECK(error("[1,, 2]") == "it: not JSON at line 1, column 4");
  CHECK(error("[1\n") == "it: not JSON at line 2, column 1");
  CHECK(error("[1") == "it: not JSON at line 1, column 3");
  CHECK(error("{} x") == "it: not JSON at line 1, column 4");
  CHECK(error("[NaN]") == "it: not JSON at line 1, column 2");
  CHECK(error("\"\xff\"") == "it: not JSON at line 1, column 2");
  CHECK(error("[1e999]") == "it: number beyond the range of a double");
  CHECK(error(R"({"a": {"b": 1, "c": 2, "\u0062": 3}})") == "it: duplicate key 'b'");
  CHECK(error(R"([{"a": 1}, {"a": 1}])").empty());
  CHECK_FALSE(is_json("{"));
}

TEST_CASE("an object with 100,000 keys is parsed") {
  std::string text = "{";
  for (int i = 0; i < 100'000; ++i) text += (i ? ",\"" : "\"") + std::to_string(i) + "\":0";
  CHECK(parse_json(text + "}", "it").size() == 100'000);
}

TEST_CASE("doubles round-trip through JSON, including infinity and NaN") {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double x : {0.1, -0.0, infinity, -infinity, std::nan("")}) {
    const auto json = parse_json(dump_json(real_json(x)), "it");
    const double back = JsonReader(json, "it").real();
    CHECK((back == x || (std::isnan(x) && std::isnan(back))));
  }
  CHECK_THROWS_AS(JsonReader(nlohmann::ordered_json("nan"), "it").real(), Error);
  CHECK_THROWS_AS(JsonReader(nlohmann::ordered_json(nullptr), "it").real(), Error);
}

TEST_CASE("strings with invalid UTF-8 are escaped or replaced in JSON") {
  CHECK(recorded_text("a\xc3\xa4\n") == "a\xc3\xa4\n");
  CHECK(recorded_text("a\xff") == "a\\xff");
  CHECK(dump_json(nlohmann::ordered_json("\xff")) == "\"\xef\xbf\xbd\"");
}
