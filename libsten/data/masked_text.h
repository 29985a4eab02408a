// SPDX-License-Identifier: Apache-2.0
// Batches of masked language models (Devlin et al. 2019): text windows, some tokens of which are
// predicted.
#pragma once
#include <cstdint>

#include "libsten/core/tensor/dense.h"
#include "libsten/data/tokenizer/tokenizer.h"

namespace sten {

struct MaskedTextOptions {
  Index window = 128;  // T, tokens, including the tokenizer's special tokens
  Index batch = 32;    // B, windows
  std::uint64_t seed = 0;
  // true: training windows at random positions, with repetition. false: consecutive windows without
  // overlap, without the incomplete last one: always the same, for evaluation.
  bool draw = true;
  // Share of the text's tokens to predict. Of these, `masked` are replaced by [MASK] and `random`
  // by random tokens; the rest is unchanged.
  double predicted = 0.15, masked = 0.8, random = 0.1;
};

struct MaskedBatch {
  Dense ids;               // [B, T], I64: input of the model
  Dense targets;           // [B * T], I64: the token to predict, else -100
  Dense masked_positions;  // [P], I64: the masked positions in `targets`, ascending
  Dense wanted;            // [P], I64: the tokens at these positions; P may be 0
};

// Sequence q of a seed is the same in any batch: batch i of size B has the sequences i * B to i * B
// + B - 1, so that four batches of 8 equal one of 32. Batches are independent.
class MaskedText {
 public:
  // Uses the tokens [begin, end) of `text`, which is shared. Error (usage) for fewer tokens than a
  // window, and for invalid options; Error if the tokenizer has no [MASK].
  MaskedText(Array<TokenId> text, Index begin, Index end, const Tokenizer& tokenizer,
             const MaskedTextOptions& options = {});

  // With `draw`, the number of windows that fill the text once, rounded down, at least 1.
  Index per_epoch() const;
  // Returns batch i, 0 <= i; without `draw` i < per_epoch(), and the last batch may be smaller.
  MaskedBatch at(Index i) const;

 private:
  // Tokens of text in a window.
  Index length() const { return options_.window - std::ssize(before_) - std::ssize(after_); }
  Index windows() const { return (end_ - begin_) / length(); }
  Index start_of(Index sequence) const;

  Array<TokenId> text_;
  Index begin_, end_;
  MaskedTextOptions options_;
  TokenId mask_;
  std::vector<TokenId> ordinary_, before_, after_;  // around the text in each window
  std::uint64_t start_seed_, mask_seed_;
};

}  // namespace sten
