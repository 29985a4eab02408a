// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/rewrite/module_name.h"

#include <algorithm>

namespace sten {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return out;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

}  // namespace

bool is_number(std::string_view part) {
  return !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

ModuleName::ModuleName(std::string_view name) : text(lower(name)), path(split(text, '.')) {
  if (path.size() > 1 && path.back() == "weight") path.pop_back();
  for (const std::string_view part : path) {
    has_number |= is_number(part);
    if (!is_number(part)) own = part;
  }
  if (own.ends_with("_weight")) own.remove_suffix(7);
  words = split(own, '_');
  for (std::string_view& word : words)
    while (!word.empty() && word.back() >= '0' && word.back() <= '9') word.remove_suffix(1);
}

bool ModuleName::has_word(std::initializer_list<std::string_view> any) const {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view w) { return is_one_of(w, any); });
}

}  // namespace sten
