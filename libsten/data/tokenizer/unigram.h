// SPDX-License-Identifier: Apache-2.0
// Unigram (Kudo 2018): splits a word into the subwords with the highest sum of scores.
#pragma once
#include <array>
#include <limits>

#include "libsten/data/tokenizer/longest_prefix.h"
#include "libsten/data/tokenizer/subword_model.h"
#include "libsten/data/tokenizer/subword_vocabulary.h"

namespace sten {

struct UnigramOptions {
  std::optional<TokenId> unknown;  // of characters without a subword; adjacent ones have one id
  bool byte_fallback = false;      // these are <0x..> per byte, if all of a run exist
};

class Unigram final : public SubwordModel {
 public:
  // The score of a subword that is never found in a word.
  static constexpr double never = -std::numeric_limits<double>::infinity();

  // `scores`: one per subword, in the order of ids from 0.
  Unigram(const SubwordVocabulary& subwords, std::vector<double> scores, UnigramOptions options);

  std::string_view kind() const override { return "Unigram"; }
  void append(std::string_view word, std::vector<TokenId>& out) const override;

 private:
  void append_unknown(std::string_view run, std::vector<TokenId>& out) const;

  std::string file_;
  std::vector<double> scores_;
  double unknown_score_;
  UnigramOptions options_;
  std::vector<std::string> texts_;  // entries of prefixes_
  LongestPrefix prefixes_;          // ids
  std::array<TokenId, 256> fallback_ids_;
};

}  // namespace sten
