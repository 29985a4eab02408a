// SPDX-License-Identifier: Apache-2.0
// Pre-tokenizers of a tokenizer.json: the split of a normalized text into words.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "libsten/data/tokenizer/split_behavior.h"
#include "libsten/data/tokenizer/text_pattern.h"

namespace sten {

struct PatternSplit {
  TextPattern pattern;
  SplitBehavior behavior = SplitBehavior::isolated;
  bool invert = false;  // splits at what does not match
};
// Splits at characters: numbers, punctuation or white space.
struct CharacterSplit {
  bool (*is_match)(std::int32_t) = nullptr;
  SplitBehavior behavior = SplitBehavior::isolated;
};
struct BertSplit {};
// Blanks become `replacement`, as in SentencePiece.
struct Metaspace {
  enum Prepend : std::uint8_t { never, first, always };
  std::string replacement = "▁";
  Prepend prepend = always;  // to a part without; first: of the part at the start of the text
  bool split = true;         // before each replacement
};
// Words whose bytes are the characters of byte-level BPE.
struct ByteLevelSplit {
  bool prefix_space = true;  // before a part without
  bool gpt_words = true;     // splits as GPT-2
};

using PreTokenizerStep =
    std::variant<PatternSplit, CharacterSplit, BertSplit, Metaspace, ByteLevelSplit>;

class PreTokenizer {
 public:
  PreTokenizer() = default;
  explicit PreTokenizer(std::vector<PreTokenizerStep> steps) : steps_(std::move(steps)) {}

  using Word = std::function<void(std::string_view)>;
  // Calls f for each word of a text that is not empty. `is_first`: the text has none before it.
  void operator()(std::string_view text, bool is_first, const Word& word) const;
  // Whether the parts of a text before and after the line feed that follows an ASCII letter can be
  // split alone.
  bool breaks_at_lines() const;

 private:
  void split(std::size_t step, std::string_view text, bool is_first, const Word& word) const;

  std::vector<PreTokenizerStep> steps_;
};

}  // namespace sten
