// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/layout/nmg_patterns.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

using Pattern = std::vector<int>;

struct Structure {
  Index n, m;
};

Pattern pattern(const PatternTable& t, Index p) { return {t[p].begin(), t[p].end()}; }

// "01 02 12", for m <= 10.
std::string text_of(Index n, Index m) {
  const auto table = PatternTable::get(n, m);
  std::string s;
  for (Index p = 0; p < table->count(); ++p) {
    if (p) s += ' ';
    for (int r : pattern(*table, p)) s += static_cast<char>('0' + r);
  }
  return s;
}

// The recursive definition of the order of patterns.
std::vector<Pattern> in_order(int n, int m, bool s) {
  if (n == 0) return {{}};
  if (n == m) {
    Pattern all(n);
    for (int i = 0; i < n; ++i) all[i] = i;
    return {all};
  }
  auto list = in_order(n, m - 1, true);
  if (s) std::reverse(list.begin(), list.end());
  for (Pattern p : in_order(n - 1, m - 1, !s)) {
    p.push_back(m - 1);
    list.push_back(p);
  }
  return list;
}

Index in_common(const Pattern& a, const Pattern& b) {
  Pattern both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return std::ssize(both);
}

}  // namespace

TEST_CASE("patterns have the fixed order of the file format") {
  CHECK(text_of(2, 4) == "01 02 12 13 03 23");
  CHECK(text_of(1, 4) == "1 0 2 3");
  CHECK(text_of(1, 8) == "5 3 1 0 2 4 6 7");
  CHECK(text_of(3, 6) ==
        "123 023 013 012 014 024 124 134 034 234 235 135 035 015 025 125 145 045 245 345");
  CHECK(text_of(1, 1) == "0");
  CHECK(text_of(4, 4) == "0123");
}

TEST_CASE("the order of patterns matches its recursive definition") {
  for (int m = 1; m <= 9; ++m)
    for (int n = 1; n <= m; ++n) {
      CAPTURE(n);
      CAPTURE(m);
      const auto expected = in_order(n, m, false);
      const auto table = PatternTable::get(n, m);
      REQUIRE(table->count() == std::ssize(expected));
      for (Index p = 0; p < table->count(); ++p) CHECK(pattern(*table, p) == expected[p]);
    }
}

TEST_CASE("every pattern occurs once, is found, and differs from the next in one position") {
  std::vector<Structure> sizes{{1, 300}, {299, 300}, {5, 10},   {8, 14},  {2, 64},  {3, 40},
                               {7, 7},   {16, 17},   {1, 1000}, {64, 64}, {2, 300}, {1, 65536}};
  for (Index m = 1; m <= 12; ++m)
    for (Index n = 1; n <= m; ++n) sizes.push_back({n, m});
  for (const Structure& size : sizes) {
    const Index n = size.n, m = size.m;
    CAPTURE(n);
    CAPTURE(m);
    const auto table = PatternTable::get(n, m);
    CHECK(table->count() == pattern_count(n, m, 65536));
    CHECK((table->n() == n && table->m() == m));
    std::set<Pattern> seen;
    Pattern last;
    for (Index p = 0; p < table->count(); ++p) {
      const Pattern now = pattern(*table, p);
      if (!std::is_sorted(now.begin(), now.end()) || now.front() < 0 || now.back() >= m ||
          std::adjacent_find(now.begin(), now.end()) != now.end())
        FAIL_CHECK("pattern " << p << " does not ascend within m");
      if (p && in_common(last, now) != n - 1) FAIL_CHECK("patterns " << p - 1 << " and " << p);
      if (table->find((*table)[p].data()) != p) FAIL_CHECK("pattern " << p << " is not found");
      if (table->count() < 10000 && !seen.insert(now).second) FAIL_CHECK(p << " is there twice");
      last = now;
    }
  }
}

TEST_CASE("pattern_count saturates at limit + 1 without overflow") {
  CHECK(pattern_count(2, 4, 100) == 6);
  CHECK(pattern_count(4, 4, 100) == 1);
  CHECK(pattern_count(8, 16, 65536) == 12870);
  CHECK(pattern_count(8, 16, 12870) == 12870);
  CHECK(pattern_count(8, 16, 12869) == 12870);
  CHECK(pattern_count(500, 1000, 65536) == 65537);
  CHECK(pattern_count(1, INT64_MAX, 65536) == 65537);
  CHECK(pattern_count(INT64_MAX / 2, INT64_MAX, 65536) == 65537);
  CHECK(pattern_count(INT64_MAX, INT64_MAX, 65536) == 1);
}

TEST_CASE("pattern tables that would be too large are rejected") {
  for (const Structure& size : std::vector<Structure>{{9, 20},
                                                      {1, 65537},
                                                      {32767, 65535},
                                                      {65535, 65536},
                                                      {65536, 65536},
                                                      {70000, 70000},
                                                      {6000, 6001},
                                                      {INT64_MAX, INT64_MAX}}) {
    CAPTURE(size.n);
    CAPTURE(size.m);
    CHECK(fault_of([&] { PatternTable::get(size.n, size.m); }) == Fault::usage);
  }
}

TEST_CASE("pattern tables of equal n and m are shared") {
  CHECK(PatternTable::get(2, 4) == PatternTable::get(2, 4));
  CHECK(PatternTable::get(2, 4) != PatternTable::get(2, 5));
}
