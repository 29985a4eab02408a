// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/tokenizer/vocabulary.h"

#include <algorithm>
#include <array>

#include "libsten/core/base/json.h"
#include "libsten/core/base/text.h"
#include "libsten/files/system/data_file.h"
#include "libsten/files/tensors/safetensors_header.h"

namespace sten {
namespace {

constexpr std::size_t max_vocabulary_bytes = 64'000'000;

// Bytes of the first character; 0 if it is not UTF-8.
std::size_t character_bytes(std::string_view s) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t n = first >= 0xc2 && first < 0xe0   ? 2
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
  if (n == 0 || n > s.size()) return 0;
  for (std::size_t i = 1; i < n; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  // Overlong forms, surrogates, and values above U+10FFFF.
  if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) >= 0xa0) ||
      (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) >= 0x90))
    return 0;
  return n;
}

bool is_special(std::string_view token) {
  return token.size() > 2 && token.front() == '[' && token.back() == ']';
}

}  // namespace

Vocabulary Vocabulary::parse(std::span<const std::byte> file, const std::string& file_name) {
  Vocabulary v;
  v.name_ = printable(file_name);
  if (file.size() > max_vocabulary_bytes)
    fail("{}: {} bytes are more than {}", v.name_, file.size(), max_vocabulary_bytes);
  const TokenId max_id = max_id_of(file.size());
  std::unordered_map<TokenId, std::string> tokens;
  const auto object = parse_json(text_of(file), v.name_, Fault::input);
  if (!object.is_object()) fail("{}: expected a JSON object of token ids", v.name_);
  for (const auto& [token, id] : object.items()) {
    if (id.is_structured()) fail("{}: expected a JSON object of token ids", v.name_);
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > static_cast<std::uint64_t>(max_id))
      fail("{}: the id of {} must be from 0 to {}", v.name_, shown(token), max_id);
    const auto number = id.get<TokenId>();
    const bool special = is_special(token);
    if (!special && (token.empty() || character_bytes(token) != token.size()))
      fail("{}: {} is not one character or a special token such as [MASK]", v.name_, shown(token));
    if (const auto [other, fresh] = tokens.emplace(number, token); !fresh)
      fail("{}: {} and {} both have the id {}", v.name_, shown(other->second), shown(token),
           number);
    if (!special) v.characters_.push_back(number);
    v.ids_.emplace(token, number);
    v.size_ = std::max<Index>(v.size_, number + 1);
  }
  if (v.characters_.empty()) fail("{}: no characters found", v.name_);
  std::sort(v.characters_.begin(), v.characters_.end());
  return v;
}

Vocabulary Vocabulary::read(const std::string& path) {
  const MappedFile file = open_data(path);
  Vocabulary v = parse(file.bytes(), path);
  file.check_unchanged();
  return v;
}

std::optional<TokenId> Vocabulary::special(std::string_view token) const {
  const auto at = ids_.find(std::string(token));
  if (at == ids_.end()) return std::nullopt;
  return at->second;
}

std::string_view Vocabulary::entry(TokenId id) const {
  for (const auto& [token, its] : ids_)
    if (its == id) return token;
  return "";
}

Array<TokenId> Vocabulary::encode(std::string_view text, const std::string& text_name) const {
  constexpr TokenId none = -1;
  std::array<TokenId, 128> ascii;
  ascii.fill(none);
  for (const auto& [token, id] : ids_)
    if (token.size() == 1) ascii[static_cast<unsigned char>(token[0])] = id;
  const TokenId unknown = special("[UNK]").value_or(none);

  // Counts all but continuation bytes; the count is irrelevant for other encodings.
  const auto n = std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  });
  Array<TokenId> out = Array<TokenId>::uninitialized(static_cast<std::size_t>(n));
  TokenId* to = out.mutate();
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t bytes = character_bytes(text.substr(i, 4));
    if (bytes == 0) fail("{}: {}: invalid UTF-8", printable(text_name), place_of(text, i));
    TokenId id = none;
    if (bytes == 1) {
      id = ascii[static_cast<unsigned char>(text[i])];
    } else if (const auto at = ids_.find(std::string(text.substr(i, bytes))); at != ids_.end()) {
      id = at->second;
    }
    if (id == none) id = unknown;
    if (id == none)
      fail("{}: {}: {} is not in {} (and [UNK] is missing)", printable(text_name),
           place_of(text, i), shown(text.substr(i, bytes)), name_);
    *to++ = id;
    i += bytes;
  }
  return out;
}

std::string Vocabulary::decode(std::span<const TokenId> ids) const {
  std::string text;
  for (const TokenId id : ids)
    if (std::ranges::binary_search(characters_, id)) text += entry(id);
  return text;
}

SpecialIds Vocabulary::special_ids() const {
  return {special("[UNK]"), special("[CLS]"), special("[SEP]"), special("[MASK]"),
          special("[PAD]"), std::nullopt,     std::nullopt};
}

}  // namespace sten
