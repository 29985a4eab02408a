// SPDX-License-Identifier: Apache-2.0
// resparsify: applies a tensor's own sparsifier to its updated values.
#pragma once
#include "libsten/core/sparsify/sparsifier.h"

namespace sten {

struct Resparsify {
  static constexpr const char* name = "resparsify";
  static constexpr SpecDoc doc{"resparsify",
                               "what the tensor's own sparsifier selects of the updated values"};
  static constexpr bool needs_own = true;
  // Selects with Hints::own, which gets the other hints. Error (usage) if it is missing or a
  // resparsify itself.
  Mask select(const Dense& x, const Hints& hints) const;
  // Hints::own. Error (usage) if it is missing.
  static const Sparsifier& own(const Hints& hints);
  static Hints without_own(Hints hints) {
    hints.own = nullptr;
    return hints;
  }
};

}  // namespace sten
