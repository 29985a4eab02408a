// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/tokenizer/gpt_words.h"

#include "libsten/core/base/utf8.h"
#include "libsten/data/tokenizer/unicode.h"

namespace sten {
namespace {

// Bytes of a contraction at the start of the text, or 0.
std::size_t contraction(std::string_view text) {
  if (text[0] != '\'') return 0;
  for (const std::string_view c : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
    if (text.starts_with(c)) return c.size();
  return 0;
}

}  // namespace

void for_gpt_words(std::string_view text, const std::function<void(std::string_view)>& word) {
  const auto class_at = [&](std::size_t& i) { return class_of(next_code_point(text, i)); };
  // The end of the run of this class from i.
  const auto run_end = [&](std::size_t i, CharacterClass like) {
    for (std::size_t next = i; i < text.size() && class_at(next) == like;) i = next;
    return i;
  };
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    end = begin + contraction(text.substr(begin));
    if (end == begin) {
      std::size_t next = begin;
      CharacterClass first = class_at(next);
      if (text[begin] == ' ' && next < text.size()) {
        std::size_t after = next;
        const CharacterClass second = class_at(after);
        if (second != CharacterClass::space) first = second, next = after;
      }
      end = run_end(next, first);
      // The last white space before a word is not part of the run: a blank starts the word, and
      // other white space stands alone.
      if (first == CharacterClass::space && end < text.size() && end > next) {
        do --end;
        while ((static_cast<unsigned char>(text[end]) & 0xc0) == 0x80);
      }
    }
    word(text.substr(begin, end - begin));
  }
}

}  // namespace sten
