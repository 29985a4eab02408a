// SPDX-License-Identifier: Apache-2.0
// sentencepiece_model.proto, read with our reader of Protobuf's wire format: libsentencepiece has
// no interface to the kind of model and to the normalization. Its own encoder needs memory in
// proportion to the text, and follows a broken character map out of bounds.
#include "libsten/files/sentencepiece/sentencepiece_model.h"

#include <algorithm>
#include <cmath>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/core/base/utf8.h"
#include "libsten/files/onnx/wire.h"

namespace sten {
namespace {

SentencePiece piece_of(WireMessage in, std::size_t id) {
  SentencePiece p;
  while (in.next()) {
    if (in.number() == 1) p.text = in.text();
    if (in.number() == 2) p.score = in.float32();
    if (in.number() == 3) p.type = sentencepiece_type(in.integer(), in.file().name, id);
  }
  return p;
}

void read_trainer(WireMessage in, SentencePieceModel& m) {
  const auto id = [&]() -> std::optional<std::int32_t> {
    if (in.integer32() < 0) return std::nullopt;
    return in.integer32();
  };
  while (in.next()) {
    if (in.number() == 3 && in.integer() != 1 && in.integer() != 2)
      fail("{}: expected a model of kind 1 (Unigram) or 2 (BPE), got {}", in.file().name,
           in.integer());
    if (in.number() == 3) m.is_unigram = in.integer() == 1;
    if (in.number() == 24 && in.varint())
      fail("{}: treat_whitespace_as_suffix is not supported", in.file().name);
    if (in.number() == 35) m.byte_fallback = in.varint();
    if (in.number() == 41) m.bos = id();
    if (in.number() == 42) m.eos = id();
    if (in.number() == 43) m.pad = id();
  }
}

void read_normalizer(WireMessage in, SentencePieceModel& m) {
  while (in.next()) {
    if (in.number() == 2) m.character_map = in.text();
    if (in.number() == 3) m.adds_prefix = in.varint();
    if (in.number() == 4) m.removes_spaces = in.varint();
    if (in.number() == 5) m.escapes_spaces = in.varint();
  }
}

void check_denormalizer(WireMessage in) {
  while (in.next())
    if (in.number() == 2 && !in.bytes().empty())
      fail("{}: rules for decoded text (denormalizer_spec) are not supported", in.file().name);
}

}  // namespace

SentencePieceModel parse_sentencepiece(std::span<const std::byte> file, const std::string& name) {
  SentencePieceModel m;
  m.bos = 1, m.eos = 2;  // where the file has no others
  const WireFile wire{file, fmt::format("{}: SentencePiece model", name)};
  WireMessage in(wire.bytes, wire);
  while (in.next()) {
    if (in.number() == 1) m.pieces.push_back(piece_of({in.bytes(), wire}, m.pieces.size()));
    if (in.number() == 2) read_trainer({in.bytes(), wire}, m);
    if (in.number() == 3) read_normalizer({in.bytes(), wire}, m);
    if (in.number() == 5) check_denormalizer({in.bytes(), wire});
  }
  check_sentencepiece(m, wire.name);
  return m;
}

SentencePiece::Type sentencepiece_type(std::int64_t number, const std::string& file,
                                       std::size_t piece) {
  if (number < SentencePiece::normal || number > SentencePiece::byte)
    fail("{}: piece {}: expected a type from 1 to 6, got {}", file, piece, number);
  return static_cast<SentencePiece::Type>(number);
}

std::optional<std::int32_t> SentencePieceModel::unknown() const {
  const auto at = std::ranges::find(pieces, SentencePiece::unknown, &SentencePiece::type);
  if (at == pieces.end()) return std::nullopt;
  return static_cast<std::int32_t>(at - pieces.begin());
}

void check_sentencepiece(const SentencePieceModel& m, const std::string& name) {
  if (m.pieces.empty()) fail("{}: no pieces found", name);
  for (std::size_t i = 0; i < m.pieces.size(); ++i) {
    const SentencePiece& p = m.pieces[i];
    if (p.text.empty() || !is_utf8(p.text))
      fail("{}: piece {}: expected a text in UTF-8, got {}", name, i, quote(p.text));
    if (!std::isfinite(p.score))
      fail("{}: piece {}: expected a finite score, got {}", name, i, p.score);
  }
  for (const auto& id : {m.bos, m.eos, m.pad})
    if (id && (*id < 0 || *id >= std::ssize(m.pieces)))
      fail("{}: expected the id of one of {} pieces, got {}", name, m.pieces.size(), *id);
}

}  // namespace sten
