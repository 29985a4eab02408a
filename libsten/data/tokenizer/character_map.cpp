// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/tokenizer/character_map.h"

#include <cstring>

#include "libsten/core/base/error.h"
#include "libsten/core/base/utf8.h"

namespace sten {
namespace {

// SentencePiece asks its trie for so many entries at a position, and takes the last one.
constexpr int max_entries = 32;

// Parts of a unit, as Darts-clone has them.
bool is_value(std::uint32_t unit) { return unit >> 31; }
std::uint32_t value_of(std::uint32_t unit) { return unit & 0x7fffffffu; }
bool has_value(std::uint32_t unit) { return unit >> 8 & 1; }
std::uint32_t label_of(std::uint32_t unit) { return unit & 0x800000ffu; }
std::uint32_t offset_of(std::uint32_t unit) { return unit >> 10 << ((unit & 512u) >> 6); }

}  // namespace

CharacterMap::CharacterMap(std::string_view bytes, const std::string& file) {
  std::uint32_t size = 0;
  if (bytes.size() >= sizeof size) std::memcpy(&size, bytes.data(), sizeof size);
  if (size == 0 || size % sizeof size != 0 || size > bytes.size() - sizeof size)
    fail("{}: precompiled_charsmap: expected the size of its trie, got {} of {} bytes", file, size,
         bytes.size());
  units_.resize(size / sizeof size);
  std::memcpy(units_.data(), bytes.data() + sizeof size, size);
  replacements_ = bytes.substr(sizeof size + size);
  replacements_ += '\0';
  for (std::uint32_t i = 0; i < units_.size(); ++i) {
    const std::uint32_t u = units_[i], children = i ^ offset_of(u);
    if (is_value(u)) continue;
    if ((children | 0xffu) >= units_.size() ||
        (has_value(u) && value_of(units_[children]) >= replacements_.size()))
      fail("{}: precompiled_charsmap: unit {} of the trie points beyond the end", file, i);
  }
}

CharacterMap::Entry CharacterMap::longest(std::string_view text) const {
  Entry found;
  int entries = 0;
  std::uint32_t at = offset_of(units_[0]);
  for (std::size_t i = 0; i < text.size() && entries < max_entries; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    at ^= byte;
    const std::uint32_t u = units_[at];
    if (label_of(u) != byte) break;
    at ^= offset_of(u);
    if (!has_value(u)) continue;
    ++entries;
    found = {i + 1, replacements_.data() + value_of(units_[at])};
  }
  return found;
}

std::string CharacterMap::operator()(std::string_view text) const {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const Entry e = longest(text.substr(i));
    if (e.bytes > 0) {
      out += e.with;
      i += e.bytes;
      continue;
    }
    const std::size_t begin = i;
    next_code_point(text, i);
    out.append(text, begin, i - begin);
  }
  return out;
}

}  // namespace sten
