// Base of subword tokenizers: vocabulary, added tokens, special tokens around a sequence, and
// threads.
#pragma once
#include <unordered_map>

#include "libsten/data/tokenizer/added_tokens.h"
#include "libsten/data/tokenizer/subword_cache.h"
#include "libsten/data/tokenizer/tokenizer.h"

namespace sten {

// Unique subwords and their ids.
class SubwordVocabulary {
 public:
  // `bytes`: size of the file, which bounds ids; see max_id_of().
  SubwordVocabulary(std::string file, std::size_t bytes)
      : file_(std::move(file)), max_id_(max_id_of(bytes)) {}

  // Error with `place` if the subword or id exists, or the id is out of range.
  void add(std::string subword, TokenId id, const std::string& place);
  // As add(), unless the subword has that id.
  void ensure(const std::string& subword, TokenId id, const std::string& place);
  std::optional<TokenId> find(std::string_view subword) const;
  std::string_view entry(TokenId id) const;
  bool has(TokenId id) const { return id >= 0 && id < size() && is_used_[id]; }
  Index size() const { return std::ssize(entries_); }
  const std::string& file() const { return file_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };
  std::string file_;
  TokenId max_id_;
  std::vector<std::string> entries_;
  std::vector<bool> is_used_;
  std::unordered_map<std::string, TokenId, Hash, std::equal_to<>> ids_;
};

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
  // Appends the ids of a normalized text without added tokens.
  virtual void append(std::string_view text, SubwordCache& cache,
                      std::vector<TokenId>& out) const = 0;
  // Called when the derived class can normalize.
  void take_added();

  bool is_special(TokenId id) const { return subwords_.has(id) && is_special_[id]; }
  bool is_added(TokenId id) const { return subwords_.has(id) && is_added_[id]; }
  const SubwordVocabulary& subwords() const { return subwords_; }

 private:
  void append_all(std::string_view text, std::vector<TokenId>& out) const;

  SubwordVocabulary subwords_;
  SequenceTemplate around_;
  SpecialIds special_;
  std::vector<AddedToken> all_added_;
  AddedTokens raw_, normalized_;
  std::vector<bool> is_special_, is_added_;
  std::vector<TokenId> ordinary_;
};

}  // namespace sten
