// SPDX-License-Identifier: Apache-2.0
// Normalizers of a tokenizer.json: changes of the text before it is split into words.
#pragma once
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "libsten/data/tokenizer/bert_text.h"
#include "libsten/data/tokenizer/character_map.h"
#include "libsten/data/tokenizer/text_pattern.h"
#include "libsten/data/tokenizer/unicode_form.h"

namespace sten {

struct Lowercase {};
struct StripAccents {};  // removes combining marks
struct StripSpaces {
  bool left = true, right = true;
};
struct PrependText {
  std::string text;  // before a text that is not empty
};
struct ReplaceText {
  TextPattern pattern;
  std::string with;
};

// Removes spaces (U+0020) at both ends, and all but one of adjacent spaces.
struct SingleSpaces {
  std::string also_at_end = {};  // a character
};

using NormalizerStep =
    std::variant<BertTextOptions, UnicodeForm, Lowercase, StripAccents, StripSpaces, PrependText,
                 ReplaceText, SingleSpaces, std::shared_ptr<const CharacterMap>>;

class Normalizer {
 public:
  Normalizer() = default;
  explicit Normalizer(std::vector<NormalizerStep> steps) : steps_(std::move(steps)) {}

  // The steps in order on UTF-8; `buffer` may hold the result.
  std::string_view operator()(std::string_view text, std::string& buffer) const;
  // Whether the parts of a text before and after the line feed that follows an ASCII letter can be
  // normalized alone.
  bool breaks_at_lines() const;

 private:
  std::vector<NormalizerStep> steps_;
};

// The text with each match replaced.
std::string replaced(std::string_view text, const ReplaceText& change);

}  // namespace sten
