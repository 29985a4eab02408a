// SPDX-License-Identifier: Apache-2.0
// Batches of causal language models: text windows, each token of which is predicted from the
// previous ones.
#pragma once
#include <cstdint>
#include <optional>

#include "libsten/core/tensor/dense.h"
#include "libsten/data/tokenizer/tokenizer.h"

namespace sten {

struct TextWindowsOptions {
  Index window = 128;  // T, tokens
  Index batch = 32;    // B, windows
  std::uint64_t seed = 0;
  // true: training windows at random positions, with repetition. false: consecutive windows, each
  // starting with the last target of the previous one, without the incomplete last one: always the
  // same, for evaluation.
  bool draw = true;
};

struct TextBatch {
  Dense ids;          // [B, T], I64
  Dense next;         // [B, T], I64: the next token of each; ignored_label where it is not counted
  Index counted = 0;  // tokens of `next` that are counted
};

// Window q of a seed is the same in any batch: batch i of size B has the windows i * B to i * B + B
// - 1. Batches are independent.
class TextWindows {
 public:
  // Uses the tokens [begin, end) of `text`, which is shared. `targets`, of the same size: the tokens
  // of `next`; by default `text`. Error (usage) for fewer tokens than a window and the next token,
  // and for invalid options.
  TextWindows(Array<TokenId> text, Index begin, Index end, const TextWindowsOptions& options = {},
              std::optional<Array<TokenId>> targets = {});

  // With `draw`, the number of windows that fill the text once, rounded down, at least 1.
  Index per_epoch() const;
  // Returns batch i, 0 <= i; without `draw` i < per_epoch(), and the last batch may be smaller.
  TextBatch at(Index i) const;

 private:
  Index windows() const { return (end_ - begin_ - 1) / options_.window; }
  Index start_of(Index window) const;

  Array<TokenId> text_, targets_;
  Index begin_, end_;
  TextWindowsOptions options_;
  std::uint64_t start_seed_;
};

}  // namespace sten
