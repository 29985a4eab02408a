// SPDX-License-Identifier: Apache-2.0
// The character map of a SentencePiece model, which replaces characters and sequences of them.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sten {

// The bytes of "precompiled_charsmap": the size of a double-array trie (Darts-clone), its units of
// 32 bits, and the replacements, each ended by a null byte; integers are little endian.
class CharacterMap {
 public:
  // Error that starts with `file` for a map that points outside itself.
  CharacterMap(std::string_view bytes, const std::string& file);

  // The text with the longest entry at each position replaced; other characters remain.
  std::string operator()(std::string_view text) const;

 private:
  struct Entry {
    std::size_t bytes = 0;  // of the text; 0: no entry
    std::string_view with;
  };
  Entry longest(std::string_view text) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

}  // namespace sten
