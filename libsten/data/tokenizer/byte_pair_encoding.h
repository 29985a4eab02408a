// Byte-level byte-pair encoding of GPT-2 (Radford et al. 2019): starts with the bytes of a word,
// and merges neighbours by ascending rank.
#pragma once
#include <array>

#include "libsten/data/tokenizer/merge_ranks.h"
#include "libsten/data/tokenizer/subword_tokenizer.h"

namespace sten {

class BytePairEncoding final : public SubwordTokenizer {
 public:
  // `prefix_space`: adds a blank to the start of a text that has none.
  BytePairEncoding(SubwordVocabulary subwords, SubwordOptions common, MergeRanks ranks,
                   bool prefix_space);

  std::string_view kind() const override { return "byte-level BPE"; }
  std::string decode(std::span<const TokenId> ids) const override;

  // Adds the merge of two subwords, with the next rank. Error with `place` if one of the three is
  // not a subword, or the pair exists.
  static void add_merge(const SubwordVocabulary& subwords, std::string_view a, std::string_view b,
                        std::int32_t rank, const std::string& place, MergeRanks& ranks);

 protected:
  std::string_view normalized(std::string_view text, std::string&) const override { return text; }
  void append(std::string_view text, SubwordCache& cache, std::vector<TokenId>& out) const override;

 private:
  void append_word(std::string_view word, std::vector<TokenId>& out) const;

  MergeRanks ranks_;
  bool prefix_space_;
  std::array<TokenId, 256> byte_ids_;  // -1: none
};

}  // namespace sten
