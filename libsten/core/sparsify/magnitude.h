// SPDX-License-Identifier: Apache-2.0
// magnitude: keeps the largest absolute values of a tensor.
#pragma once
#include "libsten/core/sparsify/sparsifier.h"

namespace sten {

// Scratch: a histogram per thread.
struct Magnitude {
  static constexpr const char* name = "magnitude";
  static constexpr SpecDoc doc{
      "magnitude:sparsity=0.9",
      "all but the `llround(sparsity * N)` smallest; of equals, the later is pruned first"};
  double sparsity = 0.5;
  Mask select(const Dense& x, const Hints& hints) const;
  Mask select_stored(const Entries& x, const Hints& hints) const;
  bool selects_on_device(const Dense&) const { return true; }
  static Magnitude make(const Spec& spec);
};

}  // namespace sten
