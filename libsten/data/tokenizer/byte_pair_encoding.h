// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding (Sennrich et al. 2016): starts with the characters or bytes of a word, and
// merges neighbours by ascending rank.
#pragma once
#include <array>
#include <bitset>
#include <memory>
#include <unordered_map>

#include "libsten/data/tokenizer/merge_ranks.h"
#include "libsten/data/tokenizer/subword_model.h"
#include "libsten/data/tokenizer/subword_vocabulary.h"

namespace sten {

struct BytePairOptions {
  bool byte_level = false;         // words are bytes, see byte_level.h
  std::optional<TokenId> unknown;  // of characters without a subword
  bool fuse_unknown = false;       // adjacent ones have one id
  bool byte_fallback = false;  // a character without a subword is <0x..> per byte, if these exist
  bool ignore_merges = false;  // a word that is a subword has its id
};

class BytePairEncoding final : public SubwordModel {
 public:
  // Of `subwords` the constructor copies what it needs.
  BytePairEncoding(const SubwordVocabulary& subwords, MergeRanks ranks, BytePairOptions options);

  std::string_view kind() const override { return options_.byte_level ? "byte-level BPE" : "BPE"; }
  void append(std::string_view word, std::vector<TokenId>& out) const override;
  // Splits between characters that are not adjacent in any subword, since no merge joins them.
  void for_chunks(std::string_view word,
                  const std::function<void(std::string_view)>& chunk) const override;

  // Adds the merge of two subwords, with the next rank. Error with `place` if one of the three is
  // not a subword, or the pair exists.
  static void add_merge(const SubwordVocabulary& subwords, std::string_view a, std::string_view b,
                        std::int32_t rank, const std::string& place, MergeRanks& ranks);

 private:
  // Pairs of adjacent characters, by their hash: a pair that is not in it is in no subword.
  using Adjacent = std::bitset<std::size_t{1} << 20>;

  TokenId id_of(std::int32_t character) const;
  void append_characters(std::string_view word, std::vector<TokenId>& out) const;
  void take_subwords(const SubwordVocabulary& subwords);
  static std::size_t adjacent_index(std::int32_t a, std::int32_t b);

  std::string file_;
  MergeRanks ranks_;
  BytePairOptions options_;
  std::array<TokenId, 256> first_ids_;                       // of bytes or ASCII; -1: none
  std::unordered_map<std::int32_t, TokenId> character_ids_;  // of other characters
  std::array<TokenId, 256> fallback_ids_;                    // of <0x..>
  SubwordVocabulary::Ids words_;                             // for ignore_merges
  std::unique_ptr<Adjacent> adjacent_;                       // if words can be split into chunks
};

}  // namespace sten
