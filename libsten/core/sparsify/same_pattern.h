// SPDX-License-Identifier: Apache-2.0
// same-pattern: keeps the pattern that the tensor has (the STen paper's SameFormatSparsifier).
#pragma once
#include "libsten/core/sparsify/sparsifier.h"

namespace sten {

struct SamePattern {
  static constexpr const char* name = "same-pattern";
  static constexpr SpecDoc doc{"same-pattern", "the pattern that the tensor had"};
  static constexpr bool needs_pattern = true;
  bool selects_on_device(const Dense&) const { return true; }
  // Returns Hints::pattern, which must have the shape of x: Error (usage).
  Mask select(const Dense& x, const Hints& hints) const;
  Mask select_stored(const Entries& x, const Hints& hints) const;
};

}  // namespace sten
