// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/text.h"
#include "libsten/core/base/name_list.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

// All texts over `alphabet` up to `longest` characters.
std::vector<std::string> all_texts(std::string_view alphabet, std::size_t longest) {
  std::vector<std::string> all{""};
  for (std::size_t from = 0, length = 1; length <= longest; ++length) {
    const std::size_t to = all.size();
    for (; from < to; ++from)
      for (char c : alphabet) all.push_back(all[from] + c);
  }
  return all;
}

// '*', '?' and plain characters, by the definition.
bool naive_glob(std::string_view p, std::string_view t) {
  if (p.empty()) return t.empty();
  if (p[0] == '*') return naive_glob(p.substr(1), t) || (!t.empty() && naive_glob(p, t.substr(1)));
  return !t.empty() && (p[0] == '?' || p[0] == t[0]) && naive_glob(p.substr(1), t.substr(1));
}

}  // namespace

TEST_CASE("natural order compares numbers in names as numbers") {
  const std::vector<std::string> sorted{"",
                                        "9",
                                        "010",
                                        "10",
                                        "A",
                                        "a",
                                        "a.2",
                                        "a0",
                                        "a00",
                                        "layer",
                                        "layer.1.b",
                                        "layer.2.a",
                                        "layer.2.b",
                                        "layer.02.c",
                                        "layer.10.a",
                                        "layer.99999999999999999999999998",
                                        "layer.99999999999999999999999999",
                                        "layers"};
  std::vector<std::string> names = sorted;
  std::sort(names.begin(), names.end());
  std::sort(names.begin(), names.end(), natural_less);
  CHECK(names == sorted);
  CHECK(natural_less("layer.2", "layer.10"));
  CHECK_FALSE(natural_less("layer.10", "layer.2"));
  CHECK(natural_less("layer.9.x", "layer.10.a"));
  CHECK(natural_less("layer.99999999999999999999999998", "layer.99999999999999999999999999"));
  CHECK(natural_less("a", "a1"));
  CHECK(natural_less("1.02.a", "1.2.b"));
  CHECK(natural_less("01", "1"));
  CHECK_FALSE(natural_less("1", "01"));
}

TEST_CASE("natural order is a strict total order") {
  const auto all = all_texts("a01.", 3);
  for (const auto& a : all)
    for (const auto& b : all) {
      const int less_count = natural_less(a, b) + natural_less(b, a);
      if (less_count != (a != b)) FAIL_CHECK("'" << a << "' and '" << b << "'");
    }
  auto sorted = all;
  std::sort(sorted.begin(), sorted.end(), natural_less);
  for (std::size_t i = 0; i < sorted.size(); ++i)
    for (std::size_t j = i + 1; j < sorted.size(); ++j)
      if (!natural_less(sorted[i], sorted[j]))
        FAIL_CHECK("'" << sorted[i] << "' before '" << sorted[j] << "' is not transitive");
}

TEST_CASE("nearest returns up to the requested number of names, closest first") {
  const std::vector<std::string> names{"layers.0.weight", "layers.0.bias", "layers.1.weight", "x"};
  CHECK(nearest("layers.1.wieght", names, 2) ==
        std::vector<std::string>{"layers.1.weight", "layers.0.weight"});
  CHECK(nearest("", names, 9).front() == "x");
  CHECK(nearest("", names, 9).size() == 4);
  CHECK(nearest("y", {}, 3).empty());
}

TEST_CASE("globs support *, ? and character sets") {
  CHECK(glob_match("encoder.*.weight", "encoder.layer.0.weight"));
  CHECK(glob_match("*", ""));
  CHECK(glob_match("*", "a/b.c"));
  CHECK_FALSE(glob_match("", "a"));
  // No bracket is closed, and the search for its end is not repeated.
  CHECK(glob_match(std::string(1'000'000, '['), std::string(1'000'000, '[')));
  CHECK_FALSE(glob_match("encoder.?", "encoder.10"));
  CHECK(glob_match("layer.[0-3].w", "layer.2.w"));
  CHECK_FALSE(glob_match("layer.[0-3].w", "layer.4.w"));
  CHECK(glob_match("layer.[!0-3].w", "layer.4.w"));
  CHECK(glob_match("layer.[^0-3].w", "layer.4.w"));
  CHECK_FALSE(glob_match("layer.[!0-3].w", "layer.3.w"));
  CHECK(glob_match("[a-]", "-"));
  CHECK_FALSE(glob_match("[a-]", "b"));
  CHECK(glob_match("a[", "a["));
  CHECK(glob_match("[]a]", "]"));
  CHECK(glob_match("[!]a]", "b"));
  CHECK_FALSE(glob_match("[!]a]", "]"));
  CHECK_FALSE(glob_match("[!]a]", "a"));
  CHECK(glob_match("[!]", "[!]"));
  CHECK(glob_match("*[0-9]", "ab12"));
  CHECK(has_glob_characters("a?"));
  CHECK_FALSE(has_glob_characters("a.b-c]"));
}

TEST_CASE("glob matching agrees with a naive matcher on all short patterns and texts") {
  const auto texts = all_texts("ab", 5);
  for (const auto& p : all_texts("ab*?", 4))
    for (const auto& t : texts)
      if (glob_match(p, t) != naive_glob(p, t)) FAIL_CHECK("'" << p << "' and '" << t << "'");
}

TEST_CASE("a glob with 50 stars is matched without exponential backtracking") {
  std::string pattern;
  for (int i = 0; i < 50; ++i) pattern += "*a";
  CHECK_FALSE(glob_match(pattern + "b", std::string(5000, 'a')));
  CHECK_FALSE(glob_match(std::string(5000, '['), std::string(5000, 'a')));
}

TEST_CASE("printable escapes terminal controls and invalid UTF-8, and nothing else") {
  CHECK(printable("layer.0 'w' \\") == "layer.0 'w' \\");
  CHECK(printable("größe 重み 🙂 \U0010ffff") == "größe 重み 🙂 \U0010ffff");
  CHECK(printable("a\nb\tc\rd") == "a\\nb\\tc\\x0dd");
  CHECK(printable("\x1b[31m") == "\\x1b[31m");
  CHECK(printable(std::string_view("\0\x7f", 2)) == "\\x00\\x7f");
  CHECK(printable("\u0085\u009b") == "\\u0085\\u009b");
  CHECK(printable("\u202egpj.exe\u2066") == "\\u202egpj.exe\\u2066");
  CHECK(printable("\xff\xfe") == "\\xff\\xfe");
  CHECK(printable("\xc0\xaf") == "\\xc0\\xaf");  // overlong
  CHECK(printable("\xe0\x9f\xbf") == "\\xe0\\x9f\\xbf");
  CHECK(printable("\xf0\x8f\xbf\xbf") == "\\xf0\\x8f\\xbf\\xbf");
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // a surrogate
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // beyond Unicode
  CHECK(printable("\xe4\xbd") == "\\xe4\\xbd");                    // cut short
  CHECK(printable("\xe4\x1b") == "\\xe4\\x1b");
  CHECK(quote("a\nb") == "'a\\nb'");
  CHECK(has_control_characters("a\x1b"));
  CHECK(has_control_characters("\xff"));
  CHECK_FALSE(has_control_characters("größe"));
  Dice dice(1);
  for (int i = 0; i < 2000; ++i) {
    std::string s;
    for (Index n = dice.below(12); n > 0; --n) s += static_cast<char>(dice.bits());
    if (has_control_characters(printable(s))) FAIL_CHECK("not escaped: " << printable(s));
  }
}

TEST_CASE("suggestion names the nearest candidate, or nothing if all are too different") {
  CHECK(suggestion("sparcity", {"seed", "sparsity"}) == ", did you mean 'sparsity'?");
  CHECK(suggestion("magnitud", {"magnitude", "masked"}) == ", did you mean 'magnitude'?");
  CHECK(suggestion("fractoin", {"seed", "fraction"}) == ", did you mean 'fraction'?");
  CHECK(suggestion("banana", {"seed", "fraction"}) == "");
  CHECK(suggestion("x", {"n", "m", "g"}) == "");
  CHECK(suggestion("", {"n"}) == "");
  CHECK(suggestion("a", {}) == "");
  CHECK(suggestion(std::string(100000, 'a'), {std::string(100000, 'a')}) == "");
}

TEST_CASE("human_bytes prints three significant digits and a unit") {
  CHECK(human_bytes(0) == "0 B");
  CHECK(human_bytes(999) == "999 B");
  CHECK(human_bytes(1000) == "1.00 kB");
  CHECK(human_bytes(4'900'000) == "4.90 MB");
  CHECK(human_bytes(12'345) == "12.3 kB");
  CHECK(human_bytes(99'949) == "99.9 kB");
  CHECK(human_bytes(99'951) == "100 kB");
  CHECK(human_bytes(999'499) == "999 kB");
  CHECK(human_bytes(999'500) == "1.00 MB");
  CHECK(human_bytes(~std::uint64_t{0}) == "18.4 EB");
}

TEST_CASE("parse_number and parse_integer reject text that is not entirely a number") {
  double v = 7;
  CHECK((parse_number("0.25", v) && v == 0.25));
  CHECK((parse_number("-1e-3", v) && v == -1e-3));
  CHECK((parse_number("3", v) && v == 3));
  for (const char* wrong :
       {"", " 1", "1 ", "1x", "+1", "nan", "inf", "-inf", "1e999", "0x10", "1,5"})
    if (parse_number(wrong, v)) FAIL_CHECK("a number: '" << wrong << "'");
  std::int64_t i = 7;
  CHECK((parse_integer("-12", i) && i == -12));
  CHECK((parse_integer("9223372036854775807", i) && i == INT64_MAX));
  for (const char* wrong : {"", " 1", "1.0", "1e3", "+1", "9223372036854775808", "0x1"})
    if (parse_integer(wrong, i)) FAIL_CHECK("an integer: '" << wrong << "'");
}

TEST_CASE("quote truncates text beyond 300 bytes at a character boundary") {
  const std::string most(300, 'a');
  CHECK(quote(most) == "'" + most + "'");
  CHECK(quote(most + "b") == "'" + most + "'...");
  CHECK(quote(std::string(10'000'000, 'a')).size() < 400);
  // Not cut within a character.
  CHECK(quote(most.substr(1) + "€€") == fmt::format("'{}'...", most.substr(1)));
}

TEST_CASE("name_list prints the first names and the number of remaining names") {
  CHECK(name_list({}) == "");
  CHECK(name_list({"a"}) == "a");
  CHECK(name_list({"a", "b\n", "c"}, 3) == "a, b\\n, c");
  CHECK(name_list({"a", "b", "c", "d"}, 3) == "a, b, c and 1 more");
  CHECK(name_list(std::vector<std::string>(20'000, "y")).size() < 50);
}
