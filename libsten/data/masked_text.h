// Batches for masked language models (Devlin et al. 2019): windows of a text, some tokens of which
// are to be predicted.
#pragma once
#include <cstdint>

#include "libsten/data/tokenizer/tokenizer.h"
#include "libsten/tensor/dense.h"

namespace sten {

struct MaskedTextOptions {
  Index window = 128;  // T, tokens, those that the tokenizer puts around a text among them
  Index batch = 32;    // B, windows
  std::uint64_t seed = 0;
  // Training draws windows anywhere, with repetition. Else they lie one after the other without
  // overlap, and what is too short for one is left out: for measuring, always the same.
  bool draw = true;
  // Of the text's tokens this share is to be predicted; of those, this share is shown as [MASK],
  // this share as a random token, and the others unchanged.
  double predicted = 0.15, masked = 0.8, random = 0.1;
};

struct MaskedBatch {
  Dense ids;               // [B, T], I64: what the model sees
  Dense targets;           // [B * T], I64: the token where it is to be predicted, else -100
  Dense masked_positions;  // [P], I64: where in `targets` those P are, ascending
  Dense wanted;            // [P], I64: the tokens there; P may be 0
};

// Sequence q of a seed is the same in any batch: batch i of size B has the sequences i * B to
// i * B + B - 1, so that four batches of 8 are one of 32. None needs those before it.
class MaskedText {
 public:
  // The tokens [begin, end) of `text`, which it shares. Error (usage) where they are fewer than a
  // window, or an option has no meaning; Error where the tokenizer has no [MASK].
  MaskedText(Array<TokenId> text, Index begin, Index end, const Tokenizer& tokenizer,
             const MaskedTextOptions& options = {});

  // Where windows are drawn: as many as fill the text once, rounded down, at least 1.
  Index per_epoch() const;
  // 0 <= i; without `draw` i < per_epoch(), and the last batch may have fewer windows.
  MaskedBatch at(Index i) const;

 private:
  // Of the text in a window.
  Index length() const { return options_.window - std::ssize(before_) - std::ssize(after_); }
  Index windows() const { return (end_ - begin_) / length(); }
  Index start_of(Index sequence) const;

  Array<TokenId> text_;
  Index begin_, end_;
  MaskedTextOptions options_;
  TokenId mask_;
  std::vector<TokenId> ordinary_, before_, after_;  // before and after the text in each window
  std::uint64_t start_seed_, mask_seed_;
};

}  // namespace sten
