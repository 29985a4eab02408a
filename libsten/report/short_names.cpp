// SPDX-License-Identifier: Apache-2.0
#include "libsten/report/short_names.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace sten {
namespace {

constexpr std::string_view dots = "…", separators = "./_ ";

bool continues(char c) { return (c & 0xc0) == 0x80; }

// The byte offset of code point `n`.
std::size_t byte_of(std::string_view s, std::size_t n) {
  std::size_t at = 0;
  for (; at < s.size() && (n > 0 || continues(s[at])); ++at) n -= !continues(s[at]);
  return at;
}

bool fit(const std::vector<std::string>& names, std::size_t width) {
  return std::ranges::all_of(names, [&](const std::string& n) { return columns_of(n) <= width; });
}

// Bytes up to and including the last separator of the common prefix.
std::size_t shared_beginning(const std::vector<std::string>& names) {
  std::size_t n = names.front().size();
  for (const std::string& s : names)
    n = std::min<std::size_t>(n, std::ranges::mismatch(s, names.front()).in1 - s.begin());
  while (n > 0 && separators.find(names.front()[n - 1]) == separators.npos) --n;
  return n;
}

std::vector<std::string> reversed(std::vector<std::string> names) {
  for (std::string& s : names) std::ranges::reverse(s);
  return names;
}

std::string cut(const std::string& s, std::size_t head, std::size_t width) {
  const std::size_t n = columns_of(s);
  if (n <= width) return s;
  const std::size_t tail = width - 1 - head;
  return s.substr(0, byte_of(s, head)) + std::string(dots) + s.substr(byte_of(s, n - tail));
}

}  // namespace

std::size_t columns_of(std::string_view s) {
  return s.size() - static_cast<std::size_t>(std::count_if(s.begin(), s.end(), continues));
}

SharedEnds shared_ends(const std::vector<std::string>& names) {
  SharedEnds ends;
  if (std::set(names.begin(), names.end()).size() < 2) return ends;
  const std::size_t prefix = shared_beginning(names);
  ends.prefix = names.front().substr(0, prefix);
  std::vector<std::string> rest = names;
  for (std::string& s : rest) s.erase(0, prefix);
  const std::size_t suffix = shared_beginning(reversed(rest));
  ends.suffix = rest.front().substr(rest.front().size() - suffix);
  return ends;
}

std::string without(const SharedEnds& ends, const std::string& name) {
  std::string out =
      name.substr(ends.prefix.size(), name.size() - ends.prefix.size() - ends.suffix.size());
  if (!ends.prefix.empty()) out.insert(0, dots);
  if (!ends.suffix.empty()) out += dots;
  return out;
}

std::vector<std::string> short_names(const std::vector<std::string>& names, std::size_t width) {
  std::vector<std::string> out = names;
  if (fit(out, width) || width < 2) return out;
  const bool several = std::set(names.begin(), names.end()).size() > 1;
  if (const std::size_t n = several ? shared_beginning(out) : 0; n > 1)
    for (std::string& s : out)
      if (columns_of(s) > width) s.replace(0, n, dots);
  if (fit(out, width)) return out;
  if (const std::size_t n = several ? shared_beginning(reversed(names)) : 0; n > 1)
    for (std::string& s : out)
      if (columns_of(s) > width) s.replace(s.size() - n, n, dots);
  if (fit(out, width)) return out;
  const std::size_t middle = width - 1 - width / 2;
  std::size_t best = middle, most = 0;
  for (std::size_t k = 0; k < 2 * width; ++k) {  // middle, middle + 1, middle - 1, ...
    const std::size_t head = k % 2 ? middle + (k + 1) / 2 : middle - k / 2;
    if (head >= width) continue;  // or negative
    std::set<std::string> distinct;
    for (const std::string& s : out) distinct.insert(cut(s, head, width));
    if (distinct.size() > most) most = distinct.size(), best = head;
    if (most == out.size()) break;
  }
  for (std::string& s : out) s = cut(s, best, width);
  return out;
}

}  // namespace sten
