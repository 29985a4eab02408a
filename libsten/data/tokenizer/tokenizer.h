// Texts and the numbers that stand for their parts: characters, pieces of words (BERT) or pieces of
// bytes (GPT-2).
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libsten/base/array.h"
#include "libsten/base/shape.h"

namespace sten {

using TokenId = std::int32_t;
inline constexpr TokenId max_token_id = (1 << 24) - 1;
// The largest id of a vocabulary of so many bytes: models have a row for each id below it, used or
// not. An entry takes 4 bytes at least; small files may have larger gaps.
TokenId max_id_of(std::size_t bytes);

struct SpecialIds {
  std::optional<TokenId> unk, cls, sep, mask, pad, bos, eos;
};

// The texts of a sequence as a model takes them.
struct TokenSequence {
  std::vector<TokenId> ids;
  std::vector<std::int32_t> types;  // as many: 0 of the first text, 1 of the second
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // "characters", "WordPiece" or "byte-level BPE".
  virtual std::string_view kind() const = 0;
  // The largest id and 1: the rows that an embedding needs.
  virtual Index size() const = 0;
  virtual SpecialIds special_ids() const = 0;
  // The ids that are not special tokens, ascending.
  virtual const std::vector<TokenId>& ordinary() const = 0;
  // The entry of an id, as the file has it; "" for an unknown one.
  virtual std::string_view entry(TokenId id) const = 0;
  // Ids of a text alone. Error with line and byte where the text is not UTF-8, or has what the
  // vocabulary has no id for.
  virtual Array<TokenId> encode(std::string_view text, const std::string& text_name) const = 0;
  // The text of ids; special tokens are left out.
  virtual std::string decode(std::span<const TokenId> ids) const = 0;
  // One text or two with the special tokens of the model around them, as [CLS] a [SEP] b [SEP]; at
  // most `most` ids, for which the longer text loses its end.
  virtual TokenSequence sequence(std::span<const TokenId> a, const std::span<const TokenId>* b,
                                 Index most) const;
  // How many special tokens that puts around one text.
  Index around() const { return std::ssize(sequence({}, nullptr, max_token_id).ids); }

  // The file; printable.
  const std::string& name() const { return name_; }
  // The files that HuggingFace finds the same tokenizer in: names in a directory, and paths.
  const std::vector<std::pair<std::string, std::string>>& files() const { return files_; }
  // "[MASK]" of mask and the like. Error that begins with the file where it is none.
  TokenId need(const std::optional<TokenId>& id, std::string_view token) const;

 protected:
  std::string name_;
  std::vector<std::pair<std::string, std::string>> files_;
  friend std::shared_ptr<const Tokenizer> read_tokenizer(const std::string& path);
};

// Of a file: a tokenizer.json; a vocab.txt of WordPiece; a vocab.json of characters, or with a
// merges.txt beside it of byte-level BPE. Of a directory: the first of these that it has, in this
// order. Error with the file where it is none of them, or not one that is computed as HuggingFace's
// tokenizers 0.20 do.
std::shared_ptr<const Tokenizer> read_tokenizer(const std::string& path);
// The file that read_tokenizer() takes of a directory, "" without one.
std::string tokenizer_file(const std::string& directory);

// The text of a file as ids, in memory; see Tokenizer::encode().
Array<TokenId> read_text(const std::string& path, const Tokenizer& tokenizer);

// "line 3, byte 120 of the file"; both count from 1.
std::string place_of(std::string_view text, std::size_t at);

}  // namespace sten
