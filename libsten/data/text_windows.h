// Batches for causal language models: windows of a text, where each token is to be predicted from
// those before it.
#pragma once
#include <cstdint>

#include "libsten/data/tokenizer/tokenizer.h"
#include "libsten/tensor/dense.h"

namespace sten {

struct TextWindowsOptions {
  Index window = 128;  // T, tokens
  Index batch = 32;    // B, windows
  std::uint64_t seed = 0;
  // Training draws windows anywhere, with repetition. Else they lie one after the other, each
  // beginning with the last token that the one before had to predict, and what is too short for
  // one is left out: for measuring, always the same.
  bool draw = true;
};

struct TextBatch {
  Dense ids;   // [B, T], I64
  Dense next;  // [B, T], I64: the token after each
};

// Window q of a seed is the same in any batch: batch i of size B has the windows i * B to
// i * B + B - 1. None needs those before it.
class TextWindows {
 public:
  // The tokens [begin, end) of `text`, which it shares. Error (usage) where they are fewer than
  // a window and the token after it, or an option has no meaning.
  TextWindows(Array<TokenId> text, Index begin, Index end, const TextWindowsOptions& options = {});

  // Where windows are drawn: as many as fill the text once, rounded down, at least 1.
  Index per_epoch() const;
  // 0 <= i; without `draw` i < per_epoch(), and the last batch may have fewer windows.
  TextBatch at(Index i) const;

 private:
  Index windows() const { return (end_ - begin_ - 1) / options_.window; }
  Index start_of(Index window) const;

  Array<TokenId> text_;
  Index begin_, end_;
  TextWindowsOptions options_;
  std::uint64_t start_seed_;
};

}  // namespace sten
