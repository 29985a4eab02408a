// SPDX-License-Identifier: Apache-2.0
// Models of SentencePiece (tokenizer.model): pieces with scores, and the normalization of texts.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sten {

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
  std::optional<std::int32_t> bos, eos, pad;

  // The id of the piece for unknown characters, if the model has one.
  std::optional<std::int32_t> unknown() const;
};

// Parses a tokenizer.model. Error with the file for another file, for a model of words or
// characters, and for spaces at the end of words.
SentencePieceModel parse_sentencepiece(std::span<const std::byte> file, const std::string& name);

// The type with this number. Error for others.
SentencePiece::Type sentencepiece_type(std::int64_t number, const std::string& file,
                                       std::size_t piece);
// Error for a model without pieces, for pieces that are not UTF-8 or have no finite score, and for
// ids beyond the pieces.
void check_sentencepiece(const SentencePieceModel& model, const std::string& file);

}  // namespace sten
