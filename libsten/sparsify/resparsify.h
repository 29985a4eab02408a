// Applies the tensor's own sparsifier anew to its updated values.
#pragma once
#include "libsten/sparsify/sparsifier.h"

namespace sten {

struct Resparsify {
  static constexpr const char* name = "resparsify";
  static constexpr bool needs_own = true;
  // By Hints::own, which gets the other hints: Error (usage) where there is none, or it is a
  // resparsify itself.
  Mask select(const Dense& x, const Hints& hints) const;
  // That one: Error (usage) where there is none.
  static const Sparsifier& own(const Hints& hints);
  static Hints without_own(Hints hints) {
    hints.own = nullptr;
    return hints;
  }
};

}  // namespace sten
