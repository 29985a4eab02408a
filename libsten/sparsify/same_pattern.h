// Keeps the pattern the tensor had (the paper's SameFormatSparsifier): fixed masks.
#pragma once
#include "libsten/sparsify/sparsifier.h"

namespace sten {

struct SamePattern {
  static constexpr const char* name = "same-pattern";
  static constexpr bool needs_pattern = true;
  bool selects_on_device(const Dense&) const { return true; }
  // Hints::pattern, which has to have the shape of x: Error (usage).
  Mask select(const Dense& x, const Hints& hints) const;
  Mask select_stored(const Entries& x, const Hints& hints) const;
};

}  // namespace sten
