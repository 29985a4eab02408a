// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/tokenizer/code_point_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "libsten/core/base/utf8.h"
#include "libsten/data/tokenizer/unicode.h"

namespace sten {
namespace {

constexpr std::int32_t last_code_point = 0x10ffff;

}  // namespace

std::vector<CodePoints> merged(std::vector<CodePoints> all) {
  std::ranges::sort(all, {}, &CodePoints::first);
  std::vector<CodePoints> out;
  for (const CodePoints& r : all) {
    if (!out.empty() && r.first <= out.back().last + 1)
      out.back().last = std::max(out.back().last, r.last);
    else
      out.push_back(r);
  }
  return out;
}

std::vector<CodePoints> complement(const std::vector<CodePoints>& all) {
  std::vector<CodePoints> out;
  std::int32_t next = 0;
  for (const CodePoints& r : merged(all)) {
    if (r.first > next) out.push_back({next, r.first - 1});
    next = r.last + 1;
  }
  if (next <= last_code_point) out.push_back({next, last_code_point});
  return out;
}

std::vector<CodePoints> code_points_of(std::string_view category) {
  // By a category, and by its first letter.
  static const auto all = [] {
    std::map<std::string, std::vector<CodePoints>, std::less<>> sets;
    const auto add = [&](std::string_view name, std::int32_t c) {
      std::vector<CodePoints>& set = sets[std::string(name)];
      if (!set.empty() && set.back().last == c - 1)
        set.back().last = c;
      else
        set.push_back({c, c});
    };
    for (std::int32_t c = 0; c <= last_code_point; ++c) {
      const std::string_view name = general_category(c);
      add(name, c);
      add(name.substr(0, 1), c);
    }
    return sets;
  }();
  const auto at = all.find(category);
  return at == all.end() ? std::vector<CodePoints>() : at->second;
}

std::vector<CodePoints> spaces() {
  std::vector<CodePoints> all;
  for (std::int32_t c = 0; c <= 0x3000; ++c)
    if (is_space(c)) all.push_back({c, c});
  return merged(std::move(all));
}

std::string written(const std::vector<CodePoints>& all) {
  std::string out = "[";
  for (const CodePoints& r : merged(all))
    out += fmt::format("\\x{{{:x}}}-\\x{{{:x}}}", r.first, r.last);
  return out + "]";
}

}  // namespace sten
