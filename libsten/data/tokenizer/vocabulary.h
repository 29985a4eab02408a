// SPDX-License-Identifier: Apache-2.0
// Character vocabulary: a Hugging Face vocab.json with one character per entry.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libsten/data/tokenizer/tokenizer.h"

namespace sten {

class Vocabulary final : public Tokenizer {
 public:
  // Reads {"[PAD]": 0, "[UNK]": 1, ..., "a": 44, ...}. Keys are single characters or special tokens
  // in brackets; ids are distinct, from 0 to 2^24 - 1. Error with the key otherwise.
  static Vocabulary read(const std::string& path);
  static Vocabulary parse(std::span<const std::byte> file, const std::string& file_name);

  // The largest id plus 1: the rows of an embedding.
  Index size() const override { return size_; }
  std::string_view kind() const override { return "characters"; }
  SpecialIds special_ids() const override;
  // The id of "[MASK]" etc.
  std::optional<TokenId> special(std::string_view token) const;
  // The ids of the single characters, ascending.
  const std::vector<TokenId>& ordinary() const override { return characters_; }

  // The entry of an id; "" for an unknown id.
  std::string_view entry(TokenId id) const override;

  // An id per character (code point) of UTF-8; [UNK] for unknown characters. Error with line and
  // byte if the text is not UTF-8, or such a character has no [UNK].
  Array<TokenId> encode(std::string_view text, const std::string& text_name) const override;
  std::string decode(std::span<const TokenId> ids) const override;

 private:
  Index size_ = 0;
  std::unordered_map<std::string, TokenId> ids_;
  std::vector<TokenId> characters_;
};

}  // namespace sten
