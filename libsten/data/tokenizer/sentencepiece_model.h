// Models of SentencePiece: pieces with scores, and the normalization of texts.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libsten/data/tokenizer/files.h"

namespace sten {

struct GgufFile;

struct SentencePiece {
  enum Type : std::uint8_t { normal = 1, unknown, control, user_defined, unused, byte };
  std::string text;  // spaces are U+2581
  double score = 0;
  Type type = normal;
};

struct SentencePieceModel {
  bool is_unigram = true;  // otherwise BPE
  bool byte_fallback = false;
  // Normalization: the character map, if there is one, then these.
  bool removes_spaces = true;  // at both ends, and all but one of adjacent ones
  bool adds_prefix = true;     // a space before the text
  bool escapes_spaces = true;  // as U+2581
  std::string character_map;
  std::vector<SentencePiece> pieces;  // by id
  std::optional<TokenId> bos, eos, pad;
};

// Parses a tokenizer.model. Error with the file for another file, for a model of words or
// characters, and for spaces at the end of words.
SentencePieceModel parse_sentencepiece(const NamedText& file);
// The model in the metadata of a GGUF file whose "tokenizer.ggml.model" is t5. Error as above.
SentencePieceModel gguf_sentencepiece(const GgufFile& file, const std::string& name);

// The tokenizer of a model, with the special tokens of `config`; `name` is the file and `bytes` its
// size. The ids are those of SentencePiece, with added tokens as in transformers: those of `config`
// and control pieces are found in the text before it is normalized; without "legacy" in `config`
// each part between them gets the prefix, and with `"legacy": false` only a part at the start.
std::shared_ptr<Tokenizer> sentencepiece_tokenizer(SentencePieceModel model, TokenizerConfig config,
                                                   const std::string& name, std::size_t bytes);

}  // namespace sten
