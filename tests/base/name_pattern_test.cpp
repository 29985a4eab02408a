#include "libsten/base/name_pattern.h"

#include <doctest/doctest.h>

#include "libsten/base/error.h"

using namespace sten;

TEST_CASE("a pattern is a name, a glob, or a regular expression on the whole name") {
  CHECK(NamePattern("a.weight").is_literal());
  CHECK(NamePattern("a.weight").matches("a.weight"));
  CHECK_FALSE(NamePattern("a.weight").matches("a-weight"));
  CHECK(NamePattern("*.weight").matches("a.b.weight"));
  CHECK_FALSE(NamePattern("*.weight").is_literal());
  CHECK(NamePattern("re:a[.]\\d+").matches("a.10"));
  CHECK_FALSE(NamePattern("re:a[.]\\d").matches("a.10"));
  CHECK_THROWS_AS(NamePattern("re:("), Error);
}

TEST_CASE("the pattern of a name means that name alone") {
  for (const std::string name :
       {"a.weight", "a[0].w*", "[", "]a?b[!c]", "re:.*", "*", "re:", "r"}) {
    CAPTURE(name);
    const NamePattern p(pattern_of(name));
    CHECK(p.matches(name));
    for (const std::string other : {"a.weights", "a0.wx", "aab", "x", "", "re:x", "[[", "rr"})
      CHECK_FALSE(p.matches(other));
  }
  CHECK(pattern_of("a.weight") == "a.weight");
}

TEST_CASE("the literal prefix of a pattern begins every name that it matches") {
  CHECK(NamePattern("a.b").literal_prefix() == "a.b");
  CHECK(NamePattern("a.*.b").literal_prefix() == "a.");
  CHECK(NamePattern("a[bc]").literal_prefix() == "a");
  CHECK(NamePattern("*a").literal_prefix() == "");
  CHECK(NamePattern("re:ab.*").literal_prefix() == "");
}
