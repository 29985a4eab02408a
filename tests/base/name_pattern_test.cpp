// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/name_pattern.h"

#include <doctest/doctest.h>

#include "libsten/core/base/error.h"
#include "tests/support/tensors.h"

using namespace sten;
using sten::testing::error_of;

TEST_CASE("a name pattern is a literal name, a glob or a regular expression") {
  CHECK(NamePattern("a.weight").is_literal());
  CHECK(NamePattern("a.weight").matches("a.weight"));
  CHECK_FALSE(NamePattern("a.weight").matches("a-weight"));
  CHECK(NamePattern("*.weight").matches("a.b.weight"));
  CHECK_FALSE(NamePattern("*.weight").is_literal());
  CHECK(NamePattern("re:a[.]\\d+").matches("b.a.10"));
  CHECK_FALSE(NamePattern("re:a[.]\\d$").matches("a.10"));
  CHECK_FALSE(NamePattern("re:^a").matches("b.a"));
  CHECK_THROWS_AS(NamePattern("re:("), Error);
}

TEST_CASE("pattern_of escapes a name so that the pattern matches only that name") {
  for (const std::string name :
       {"a.weight", "a{b,c}", ",", "a[0].w*", "[", "]a?b[!c]", "re:.*", "*", "re:", "r"}) {
    CAPTURE(name);
    const NamePattern p(pattern_of(name));
    CHECK(p.matches(name));
    CHECK(pattern_list(pattern_of(name)).size() == 1);
    for (const std::string other : {"a.weights", "a0.wx", "aab", "x", "", "re:x", "[[", "rr"})
      CHECK_FALSE(p.matches(other));
  }
  CHECK(pattern_of("a.weight") == "a.weight");
}

TEST_CASE(
    "literal_prefix is the text before the first wildcard, and empty for a regular expression") {
  CHECK(NamePattern("a.b").literal_prefix() == "a.b");
  CHECK(NamePattern("a.*.b").literal_prefix() == "a.");
  CHECK(NamePattern("a[bc]").literal_prefix() == "a");
  CHECK(NamePattern("*a").literal_prefix() == "");
  CHECK(NamePattern("re:ab.*").literal_prefix() == "");
}

TEST_CASE("pattern_list expands commas and braces, and rejects malformed lists") {
  using List = std::vector<std::string>;
  CHECK(pattern_list("a.weight") == List{"a.weight"});
  CHECK(pattern_list("a,*.b") == List{"a", "*.b"});
  CHECK(pattern_list("*.{q,k}.{w,b}") == List{"*.q.w", "*.q.b", "*.k.w", "*.k.b"});
  CHECK(pattern_list("{a,b{1,2}},c") == List{"a", "b1", "b2", "c"});
  CHECK(pattern_list("a{,.b}") == List{"a", "a.b"});
  CHECK(pattern_list("[,{].[]},]") == List{"[,{].[]},]"});
  CHECK(pattern_list("re:a{1,2},b") == List{"re:a{1,2},b"});
  for (const char* wrong : {"{a,b", "a}", "a,,b", "", "a,", "{a,{b}"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(pattern_list(wrong), Error);
  }
  for (const std::string& hostile :
       {std::string(100000, '{') + std::string(100000, '}'), std::string(1 << 20, '['),
        "{a,b}" + std::string(1 << 20, 'x')}) {
    CHECK_THROWS_AS(pattern_list(hostile), Error);
    CHECK(error_of([&] { pattern_list(hostile); }).size() < 400);
  }
  CHECK(pattern_list(std::string(1 << 20, 'x')).size() == 1);
  CHECK_THROWS_AS(pattern_list("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"), Error);
}
