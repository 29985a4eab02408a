// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/gguf/recovered_merges.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

namespace sten {
namespace {

// The longest token that is a merge, in bytes; bounds the time.
constexpr std::size_t longest = 1024;

bool is_within_character(char c) { return (c & 0xc0) == 0x80; }

std::ptrdiff_t characters(std::string_view utf8) {
  return std::ranges::count_if(utf8, [](char c) { return !is_within_character(c); });
}

struct Merge {
  double score;
  std::pair<std::ptrdiff_t, std::ptrdiff_t> lengths;
  std::pair<std::size_t, std::size_t> ids;
};

}  // namespace

std::vector<std::pair<std::size_t, std::size_t>> recovered_merges(
    const std::vector<std::string>& tokens, const std::vector<double>& scores) {
  std::unordered_map<std::string_view, std::size_t> ids;
  for (std::size_t i = 0; i < tokens.size(); ++i) ids[tokens[i]] = i;
  std::vector<Merge> merges;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string_view token = tokens[i];
    if (ids.at(token) != i || token.size() > longest) continue;
    const auto first = static_cast<std::ptrdiff_t>(merges.size());
    for (std::size_t cut = 1; cut < token.size(); ++cut) {
      if (is_within_character(token[cut])) continue;
      const auto left = ids.find(token.substr(0, cut)), right = ids.find(token.substr(cut));
      if (left == ids.end() || right == ids.end()) continue;
      merges.push_back({std::isnan(scores[i]) ? -INFINITY : scores[i],
                        {characters(left->first), characters(right->first)},
                        {left->second, right->second}});
    }
    std::sort(merges.begin() + first, merges.end(),
              [](const Merge& a, const Merge& b) { return a.ids < b.ids; });
  }
  std::stable_sort(merges.begin(), merges.end(), [](const Merge& a, const Merge& b) {
    return a.score != b.score ? a.score > b.score : a.lengths > b.lengths;
  });
  std::vector<std::pair<std::size_t, std::size_t>> all;
  for (const Merge& m : merges) all.push_back(m.ids);
  return all;
}

}  // namespace sten
