// SPDX-License-Identifier: Apache-2.0
// Hugging Face tokenizer files as text. Error with the file if it is malformed, or needs an
// unsupported tokenizer.
#pragma once
#include <string>
#include <string_view>

#include "libsten/core/base/json_reader.h"
#include "libsten/data/tokenizer/word_piece.h"

namespace sten {

struct NamedText {
  std::string name;  // printable
  std::string_view text;
};

// tokenizer_config.json, which is optional.
struct TokenizerConfig {
  bool lowercase = true, space_ideographs = true;
  std::optional<bool> strip_accents;  // none: the same as lowercase
  std::optional<bool> prefix_space;   // none: as the model says
  // For models of SentencePiece only; none: the first token, but not the last.
  std::optional<bool> adds_bos, adds_eos;
  bool is_legacy = true;
  // "[MASK]" etc., if the file has them.
  std::optional<std::string> unk, cls, sep, mask, pad, bos, eos;
  std::vector<AddedToken> added;

  static TokenizerConfig parse(const NamedText& file);
};

// Parses a vocab.txt: a subword per line; the line's index is the id.
std::shared_ptr<Tokenizer> parse_word_piece(const NamedText& vocabulary,
                                            const TokenizerConfig& config);
// Parses a vocab.json of subwords and ids, and a merges.txt.
std::shared_ptr<Tokenizer> parse_byte_pair_encoding(const NamedText& vocabulary,
                                                    const NamedText& merges,
                                                    const TokenizerConfig& config);
// Parses a tokenizer.json; see sentencepiece_tokenizer.h for a tokenizer.model.
std::shared_ptr<Tokenizer> parse_tokenizer(const NamedText& file, const TokenizerConfig& config);

namespace tokenizer_detail {
// The special tokens that the config names, or the usual ones, if the vocabulary has them.
SpecialIds special_ids(const SubwordVocabulary& subwords, const TokenizerConfig& config,
                       bool is_bert, std::vector<AddedToken>& added);
AddedToken added_token(const JsonReader& in, TokenId id);
TokenId token_id(const JsonReader& in);
}  // namespace tokenizer_detail

}  // namespace sten
