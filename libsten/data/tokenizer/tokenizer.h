// SPDX-License-Identifier: Apache-2.0
// Tokenizers: text to token ids and back, by characters, WordPiece (BERT), BPE (GPT-2, Llama) or
// Unigram.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libsten/core/base/array.h"
#include "libsten/core/base/shape.h"

namespace sten {

using TokenId = std::int32_t;
inline constexpr TokenId max_token_id = (1 << 24) - 1;
// The largest allowed id of a vocabulary of so many bytes, since models have a row for each id. An
// entry takes at least 4 bytes; small files may have larger gaps.
TokenId max_id_of(std::size_t bytes);

struct SpecialIds {
  std::optional<TokenId> unk, cls, sep, mask, pad, bos, eos;
};

// The ids of a sequence for a model.
struct TokenSequence {
  std::vector<TokenId> ids;
  std::vector<std::int32_t> types;  // same size: 0 for the first text, 1 for the second
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // "characters", "WordPiece", "byte-level BPE", "BPE" or "Unigram".
  virtual std::string_view kind() const = 0;
  // The largest id plus 1: the rows of an embedding.
  virtual Index size() const = 0;
  virtual SpecialIds special_ids() const = 0;
  // The ids of ordinary tokens, ascending.
  virtual const std::vector<TokenId>& ordinary() const = 0;
  // The entry of an id in the file; "" for an unknown id.
  virtual std::string_view entry(TokenId id) const = 0;
  // The ids of a text, without special tokens. Error with line and byte if the text is not UTF-8,
  // or has characters without an id.
  virtual Array<TokenId> encode(std::string_view text, const std::string& text_name) const = 0;
  // The text of ids, without special tokens.
  virtual std::string decode(std::span<const TokenId> ids) const = 0;
  // One or two texts with the model's special tokens, as [CLS] a [SEP] b [SEP]; at most `most` ids,
  // for which the longer text is truncated.
  virtual TokenSequence sequence(std::span<const TokenId> a, const std::span<const TokenId>* b,
                                 Index most) const;
  // The number of special tokens around one text.
  Index around() const { return std::ssize(sequence({}, nullptr, max_token_id).ids); }

  // The file; printable.
  const std::string& name() const { return name_; }
  // The files of the tokenizer in Hugging Face's format: names in a directory, and paths.
  const std::vector<std::pair<std::string, std::string>>& files() const { return files_; }
  // The id of a special token such as "[MASK]". Error that starts with the file if there is none.
  TokenId need(const std::optional<TokenId>& id, std::string_view token) const;

 protected:
  std::string name_;
  std::vector<std::pair<std::string, std::string>> files_;
  friend std::shared_ptr<const Tokenizer> read_tokenizer(const std::string& path);
};

// Reads a tokenizer from a file: a tokenizer.json; a tokenizer.model of SentencePiece; a vocab.txt of WordPiece; a vocab.json of
// characters or, with a merges.txt beside it, of byte-level BPE; a GGUF file; or from a directory: the
// first of the others in it, in this order. Error with the file for other files, and for features by which the ids
// would differ from those of Hugging Face's tokenizers 0.23.
std::shared_ptr<const Tokenizer> read_tokenizer(const std::string& path);
// The file that read_tokenizer() reads in a directory; "" if there is none.
std::string tokenizer_file(const std::string& directory);

// The ids of a file's text; see Tokenizer::encode().
Array<TokenId> read_text(const std::string& path, const Tokenizer& tokenizer);

// "line 3, byte 120 of the file"; both count from 1.
std::string place_of(std::string_view text, std::size_t at);

}  // namespace sten
