// WordPiece as BERT has it: each word becomes the longest pieces that it begins with, one after the
// other (Devlin et al. 2019).
#pragma once
#include "libsten/data/tokenizer/bert_text.h"
#include "libsten/data/tokenizer/subword_tokenizer.h"

namespace sten {

// A word takes time by the square of its characters; files of BERT say 100.
inline constexpr Index max_word_characters = 1000;

struct WordPieceOptions {
  BertTextOptions text;
  TokenId unknown = 0;              // of words that pieces do not make up
  std::string continuation = "##";  // what pieces begin with that no word begins with
  Index longest =
      100;  // characters of a word, at most max_word_characters; longer ones are unknown
  bool cleanup = true;  // decoded text has no blank before punctuation
};

class WordPiece final : public SubwordTokenizer {
 public:
  WordPiece(SubwordVocabulary subwords, SubwordOptions common, WordPieceOptions options);

  std::string_view kind() const override { return "WordPiece"; }
  std::string decode(std::span<const TokenId> ids) const override;

 protected:
  std::string_view normalized(std::string_view text, std::string& buffer) const override;
  void append(std::string_view text, SubwordCache& cache, std::vector<TokenId>& out) const override;

 private:
  void append_word(std::string_view word, std::vector<TokenId>& out) const;

  WordPieceOptions options_;
  LongestPrefix first_, next_;  // of subwords(); next: without ##
};

}  // namespace sten
