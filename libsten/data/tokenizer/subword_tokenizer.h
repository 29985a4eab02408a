// SPDX-License-Identifier: Apache-2.0
// Base of subword tokenizers: vocabulary, added tokens, special tokens around a sequence, and
// threads.
#pragma once
#include "libsten/data/tokenizer/added_tokens.h"
#include "libsten/data/tokenizer/subword_cache.h"
#include "libsten/data/tokenizer/subword_vocabulary.h"

namespace sten {

// An element of a sequence's template: a special token, or a text.
struct TemplatePart {
  enum Kind : std::uint8_t { token, first, second } kind = token;
  TokenId id = 0;
  std::int32_t type = 0;
};
struct SequenceTemplate {
  std::vector<TemplatePart> one = {{TemplatePart::first}};
  std::vector<TemplatePart> two = {{TemplatePart::first}, {TemplatePart::second, 0, 1}};
};

// Options of a tokenizer file, besides subwords.
struct SubwordOptions {
  std::vector<AddedToken> added;
  SequenceTemplate around;
  SpecialIds special;
};

class SubwordTokenizer : public Tokenizer {
 public:
  SubwordTokenizer(SubwordVocabulary subwords, SubwordOptions options);

  Index size() const override { return subwords_.size(); }
  SpecialIds special_ids() const override { return special_; }
  const std::vector<TokenId>& ordinary() const override { return ordinary_; }
  std::string_view entry(TokenId id) const override { return subwords_.entry(id); }
  Array<TokenId> encode(std::string_view text, const std::string& text_name) const override;
  TokenSequence sequence(std::span<const TokenId> a, const std::span<const TokenId>* b,
                         Index most) const override;

 protected:
  // Normalizes the text for word splitting; `buffer` may hold the result.
  virtual std::string_view normalized(std::string_view text, std::string& buffer) const = 0;
  // Appends the ids of a normalized text without added tokens. `is_first`: it is the start of the
  // whole text.
  virtual void append(std::string_view text, bool is_first, SubwordCache& cache,
                      std::vector<TokenId>& out) const = 0;
  // Whether a text can be encoded in parts that start at a line feed after an ASCII letter.
  virtual bool breaks_at_lines() const = 0;
  // Called when the derived class can normalize.
  void take_added();

  bool is_special(TokenId id) const { return subwords_.has(id) && is_special_[id]; }
  bool is_added(TokenId id) const { return subwords_.has(id) && is_added_[id]; }
  // The subword of an id for decoded text: an added token's as normalized, others' entry.
  std::string_view shown(TokenId id) const;
  const SubwordVocabulary& subwords() const { return subwords_; }

 private:
  void append_all(std::string_view text, std::vector<TokenId>& out) const;

  SubwordVocabulary subwords_;
  SequenceTemplate around_;
  SpecialIds special_;
  std::vector<AddedToken> all_added_;
  AddedTokens raw_, normalized_;
  std::unordered_map<TokenId, std::string> normalized_entries_;  // where they differ
  std::vector<bool> is_special_, is_added_;
  std::vector<TokenId> ordinary_;
};

}  // namespace sten
