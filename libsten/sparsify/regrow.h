// What grows back by its gradient.
#pragma once
#include "libsten/sparsify/sparsifier.h"

namespace sten {

// RigL (Evci et al. 2020), on the pattern that the tensor had: the `fraction` of what is kept, those
// of smallest magnitude, goes, and as many positions come for it whose scores, the gradient, are
// largest in magnitude. What went may come back. Of equal ones the first.
struct Regrow {
  static constexpr const char* name = "regrow";
  static constexpr bool needs_scores = true, needs_pattern = true;
  double fraction = 0.3;

  Mask select(const Dense& x, const Hints& h) const;
};

}  // namespace sten
