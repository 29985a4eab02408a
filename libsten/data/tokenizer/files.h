// Files of tokenizers as HuggingFace has them, as text. Error with the file where one is damaged, or
// describes what no tokenizer here computes.
#pragma once
#include <string>
#include <string_view>

#include "libsten/base/json_reader.h"
#include "libsten/data/tokenizer/byte_pair_encoding.h"
#include "libsten/data/tokenizer/word_piece.h"

namespace sten {

struct NamedText {
  std::string name;  // printable
  std::string_view text;
};

// tokenizer_config.json, which may be there besides others.
struct TokenizerConfig {
  bool lowercase = true, space_ideographs = true;
  std::optional<bool> strip_accents;  // none: as lowercase
  bool prefix_space = false;
  // "[MASK]" and the like, where the file says it.
  std::optional<std::string> unk, cls, sep, mask, pad, bos, eos;
  std::vector<AddedToken> added;

  static TokenizerConfig parse(const NamedText& file);
};

// A vocab.txt: a piece a line, whose number is the id.
std::shared_ptr<Tokenizer> parse_word_piece(const NamedText& vocabulary,
                                            const TokenizerConfig& config);
// A vocab.json of pieces and ids, and a merges.txt.
std::shared_ptr<Tokenizer> parse_byte_pair_encoding(const NamedText& vocabulary,
                                                    const NamedText& merges,
                                                    const TokenizerConfig& config);
// A tokenizer.json of either.
std::shared_ptr<Tokenizer> parse_tokenizer(const NamedText& file, const TokenizerConfig& config);

namespace tokenizer_detail {
// Those that the config names, or that are usual; added where the pieces have them.
SpecialIds special_ids(const SubwordVocabulary& subwords, const TokenizerConfig& config,
                       bool is_bert, std::vector<AddedToken>& added);
AddedToken added_token(const JsonReader& in, TokenId id);
TokenId token_id(const JsonReader& in);
}  // namespace tokenizer_detail

}  // namespace sten
