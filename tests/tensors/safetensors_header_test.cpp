// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/tensors/safetensors_header.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "libsten/core/base/error.h"
#include "tests/support/bad_input.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/tensors.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;
using namespace std::string_literals;

namespace {

std::string header_error(std::string_view json) {
  return error_of(Fault::input, [&] { read_header_text(json, "in.safetensors"); });
}

void check_header_refused(const std::vector<BadInput>& cases) {
  for (const auto& [json, message] : cases)
    CHECK(header_error(json) == "in.safetensors: " + message);
}

const std::string fields = R"("dtype":"U8","shape":[0],"data_offsets":[0,0])";
std::string named(const std::string& name) { return '"' + name + "\":{" + fields + "}"; }

std::string repeat(std::string_view text, int n) {
  std::string all;
  for (int i = 0; i < n; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("safetensors headers that are not a JSON object are rejected") {
  check_header_refused({
      {R"({"a)"
       "\xff"
       R"(":{}})",
       "header: invalid JSON at byte 11 of the file"},
      {R"({"\ud800":{}})", "header: invalid JSON at byte 16 of the file"},
      {R"({"\udc00":{}})", "header: invalid JSON at byte 15 of the file"},
      {"[]", "header: expected a JSON object"},
      {"3", "header: expected a JSON object"},
      {"   ", "header: expected a JSON object"},
      {"\xef\xbb\xbf{}", "header: expected a JSON object"},
      {"{}\0\0"s, "header: NUL byte at byte 10 of the file (pad with blanks)"},
      {"{} {}", "header: invalid JSON at byte 11 of the file"},
      {"{}x", "header: invalid JSON at byte 10 of the file"},
      {"{", "header: invalid JSON at byte 9 of the file"},
      {"{/**/}", "header: invalid JSON at byte 9 of the file"},
  });
}

TEST_CASE("duplicate names and keys are rejected, including escaped spellings") {
  check_header_refused({
      {"{" + named("a") + "," + named("b") + "," + named("a") + "}", "'a' appears twice"},
      {"{" + named("a") + "," + named("\\u0061") + "}", "'a' appears twice"},
      {R"({"a":{"dtype":"U8","dtype":"U8"}})", "'a': field 'dtype' appears twice"},
      {R"({"a":{"shape":[1],"\u0073hape":[1]}})", "'a': field 'shape' appears twice"},
      {R"({"__metadata__":{},"__metadata__":{}})", "'__metadata__' appears twice"},
      {R"({"__metadata__":{},"__metadat\u0061__":{}})", "'__metadata__' appears twice"},
      {R"({"__metadata__":{"k":"1","k":"2"}})", "metadata 'k' appears twice"},
  });
}

TEST_CASE("excessive nesting is rejected quickly") {
  const auto start = std::chrono::steady_clock::now();
  check_header_refused({
      {R"({"a":{"x":)" + repeat("[", 1'000'000), "'a': field 'x' is nested more than 32 deep"},
      {R"({"a":{"x":)" + repeat(R"({"y":)", 1'000'000),
       "'a': field 'x' is nested more than 32 deep"},
      {R"({"a":{"shape":)" + repeat("[", 1'000'000),
       "'a': 'shape': expected unsigned integers, got an array"},
      {repeat(R"({"a":)", 1'000'000), "'a': field 'a' is nested more than 32 deep"},
  });
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
}

TEST_CASE("too many tensors, metadata keys or fields are rejected") {
  std::string json = "{";
  for (int i = 0; i <= 1'000'000; ++i)
    json += fmt::format("{}\"{}\":{{{}}}", i ? "," : "", i, fields);
  CHECK(held(21, header_error(json + "}") == "in.safetensors: more than 1000000 tensors"));
  json = R"({"__metadata__":{)";
  for (int i = 0; i <= 1'000'000; ++i) json += fmt::format("{}\"{}\":\"\"", i ? "," : "", i);
  check_header_refused({{json + "}}", "more than 1000000 metadata keys"}});
  json = R"({"a":{)";
  for (int i = 0; i <= 32; ++i) json += fmt::format("{}\"{}\":0", i ? "," : "", i);
  check_header_refused({{json + "}}", "'a': has more than 32 fields"}});
}

TEST_CASE("tensor entries with a missing field are rejected") {
  check_header_refused({
      {R"({"a":{}})", "'a': missing 'dtype'"},
      {R"({"a":{"shape":[],"data_offsets":[0,0]}})", "'a': missing 'dtype'"},
      {R"({"a":{"dtype":"U8","data_offsets":[0,0]}})", "'a': missing 'shape'"},
      {R"({"a":{"dtype":"U8","shape":[]}})", "'a': missing 'data_offsets'"},
  });
}

TEST_CASE("unknown fields of any type are skipped with one warning") {
  const testing::Warnings warnings;
  const SafetensorsHeader h = read_header_text(
      R"({"a":{"x":[1,{"shape":[-1.5,[null]],"y":"z"},true],"dtype":"U8","n":null,"s":"text",)"
      R"("f":1e3,"i":-1,"u":7,"o":{"dtype":5},"shape":[2],"data_offsets":[0,2]}})",
      "in.safetensors");
  REQUIRE(h.entries.size() == 1);
  CHECK(h.entries[0].dtype == DType::U8);
  CHECK(h.entries[0].shape == Shape{2});
  CHECK(h.entries[0].end == 2);
  REQUIRE(warnings.all.size() == 1);
  CHECK(warnings.all[0] == "in.safetensors: 'a': unknown field 'x' is ignored, like 6 others");
}

TEST_CASE("metadata other than an object of strings is rejected") {
  check_header_refused({
      {R"({"__metadata__":{"k":1}})", "metadata 'k': expected a string, got 1"},
      {R"({"__metadata__":{"k":null}})", "metadata 'k': expected a string, got null"},
      {R"({"__metadata__":{"k":{}}})", "metadata 'k': expected a string, got an object"},
      {R"({"__metadata__":{"k":["v"]}})", "metadata 'k': expected a string, got an array"},
      {R"({"__metadata__":"k"})", "'__metadata__': expected an object, got a string"},
      {R"({"__metadata__":[]})", "'__metadata__': expected an object, got an array"},
  });
}

TEST_CASE("header fields of the wrong type and numbers out of range are rejected") {
  const auto shape = [](const std::string& v) { return R"({"a":{"shape":[)" + v + "]}}"; };
  const auto offsets = [](const std::string& v) { return R"({"a":{"data_offsets":)" + v + "}}"; };
  check_header_refused({
      {shape("1.0"), "'a': 'shape': expected unsigned integers, got 1.0"},
      {shape("1e3"), "'a': 'shape': expected unsigned integers, got 1e3"},
      {shape("-1"), "'a': 'shape': expected unsigned integers, got -1"},
      {shape("-0"), "'a': 'shape': expected unsigned integers, got -0"},
      {shape(R"("1")"), "'a': 'shape': expected unsigned integers, got a string"},
      {shape("true"), "'a': 'shape': expected unsigned integers, got true"},
      {shape("null"), "'a': 'shape': expected unsigned integers, got null"},
      {shape("[1]"), "'a': 'shape': expected unsigned integers, got an array"},
      {shape("9223372036854775808"), "'a': 'shape' holds 9223372036854775808, above 2^63 - 1"},
      {offsets("[0,18446744073709551615]"),
       "'a': 'data_offsets' holds 18446744073709551615, above 2^63 - 1"},
      {offsets("[0,18446744073709551616]"),
       "'a': 'data_offsets': expected unsigned integers, got 18446744073709551616"},
      {offsets("[0,1" + std::string(1000, '0') + ".5]"),
       "header: invalid JSON at byte 1034 of the file: number beyond the range of a double"},
      {shape("1e999"),
       "header: invalid JSON at byte 27 of the file: number beyond the range of a double"},
      {offsets("[0]"), "'a': 'data_offsets' holds one number, not two numbers"},
      {offsets("[]"), "'a': 'data_offsets' holds nothing, not two numbers"},
      {offsets("[0,1,2]"), "'a': 'data_offsets' holds more than two numbers"},
      {offsets("4"), "'a': 'data_offsets': expected an array, got 4"},
      {R"({"a":{"dtype":4}})", "'a': 'dtype': expected a string, got 4"},
      {R"({"a":{"dtype":["U8"]}})", "'a': 'dtype': expected a string, got an array"},
      {R"({"a":{"shape":{}}})", "'a': 'shape': expected an array, got an object"},
      {R"({"a":[]})", "'a': expected an object, got an array"},
      {R"({"a":"U8"})", "'a': expected an object, got a string"},
      {shape("01"), "header: invalid JSON at byte 24 of the file"},
  });
}

TEST_CASE("empty, overlong and unsafe tensor names (control characters, paths) are rejected") {
  const auto file = [](const std::string& name) { return "{" + named(name) + "}"; };
  check_header_refused({
      {file(""), "a tensor has an empty name"},
      {file(R"(a\nb)"), R"('a\nb': the name holds control characters)"},
      {file(R"(\u001b[2J)"), R"('\x1b[2J': the name holds control characters)"},
      {file("\x7f"), R"('\x7f': the name holds control characters)"},
      {file(R"(\u0000)"), R"('\x00': the name holds control characters)"},
      {file("a\xe2\x80\xae"
            "b"),
       R"('a\u202eb': the name holds control characters)"},
      {file(std::string(1'000'000, 'n')),
       "'" + std::string(100, 'n') + "'...: the name has 1000000 bytes, more than 4096"},
      {file("/etc/passwd"), "'/etc/passwd': the name is an absolute path"},
      {file(".."), "'..': the name is a path that leaves its directory"},
      {file("../x"), "'../x': the name is a path that leaves its directory"},
      {file("a/../../x"), "'a/../../x': the name is a path that leaves its directory"},
      {file("a/.."), "'a/..': the name is a path that leaves its directory"},
  });
  for (const char* fine : {"...", "a..b", "a/b", "a/..b/c", "a/b..", "__metadata", "x::values"})
    CHECK(header_error(file(fine)) == "");
}

TEST_CASE("error messages about huge headers stay below 400 bytes") {
  const std::string junk(1'000'000, 'j');
  for (const std::string& json :
       {"{\"" + junk, "{" + junk, "{\"" + junk + "\":3}", R"({"a":{"dtype":")" + junk + "\"}}",
        R"({"a":{")" + junk + R"(":0,")" + junk + R"(":0}})",
        R"({"__metadata__":{")" + junk + "\":3}}",
        R"({"a":{"shape":[1.)" + std::string(1'000'000, '0') + "]}}"}) {
    const std::string message = header_error(json);
    CHECK(message != "");
    CHECK(message.size() < 400);
  }
}
