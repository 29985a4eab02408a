// SPDX-License-Identifier: Apache-2.0
// WordPiece of BERT: splits a word greedily into the longest matching subwords (Devlin et al.
// 2019).
#pragma once
#include "libsten/data/tokenizer/bert_text.h"
#include "libsten/data/tokenizer/subword_tokenizer.h"

namespace sten {

// The time of a word is quadratic in its characters; files of BERT have 100.
inline constexpr Index max_word_characters = 1000;

struct WordPieceOptions {
  BertTextOptions text;
  TokenId unknown = 0;              // id of words that subwords cannot form
  std::string continuation = "##";  // prefix of subwords inside a word
  Index longest = 100;  // limit per word, at most max_word_characters; longer words are unknown
  bool cleanup = true;  // decoded text has no blank before punctuation
};

class WordPiece final : public SubwordTokenizer {
 public:
  WordPiece(SubwordVocabulary subwords, SubwordOptions common, WordPieceOptions options);

  std::string_view kind() const override { return "WordPiece"; }
  std::string decode(std::span<const TokenId> ids) const override;

 protected:
  std::string_view normalized(std::string_view text, std::string& buffer) const override;
  void append(std::string_view text, bool is_first, SubwordCache& cache,
              std::vector<TokenId>& out) const override;
  bool breaks_at_lines() const override { return true; }

 private:
  void append_word(std::string_view word, std::vector<TokenId>& out) const;

  WordPieceOptions options_;
  LongestPrefix first_, next_;  // indices of subwords(); next_: without ##
};

}  // namespace sten
