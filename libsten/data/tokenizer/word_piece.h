// WordPiece as BERT has it: each word becomes the longest pieces that it begins with, one after the
// other (Devlin et al. 2019).
#pragma once
#include "libsten/data/tokenizer/bert_text.h"
#include "libsten/data/tokenizer/piece_tokenizer.h"

namespace sten {

struct WordPieceOptions {
  BertTextOptions text;
  TokenId unknown = 0;              // of words that pieces do not make up
  std::string continuation = "##";  // what pieces begin with that no word begins with
  Index longest = 100;              // characters of a word; longer ones are unknown
  bool cleanup = true;              // decoded text has no blank before punctuation
};

class WordPiece final : public PieceTokenizer {
 public:
  WordPiece(Pieces pieces, PieceOptions common, WordPieceOptions options);

  std::string_view kind() const override { return "WordPiece"; }
  std::string decode(std::span<const TokenId> ids) const override;

 protected:
  std::string_view normalized(std::string_view text, std::string& buffer) const override;
  void append(std::string_view text, PieceCache& cache, std::vector<TokenId>& out) const override;

 private:
  void append_word(std::string_view word, std::vector<TokenId>& out) const;

  WordPieceOptions options_;
  std::unordered_map<std::string_view, TokenId> first_, next_;  // of pieces(); next: without ##
  std::size_t longest_piece_ = 0;                               // bytes
};

}  // namespace sten
