// Chooses an n:m:g pattern for every strip: a sparsifier; packing (layout/nmg.h) never chooses.
#pragma once
#include "libsten/sparsify/sparsifier.h"

namespace sten {

// fit=greedy is the paper's CPU rule (section 5.2). Scores are summed in float, F64 in double.
// Every strip of the tensor keeps the n positions of its pattern, zeros among them.
struct NmgFit {
  static constexpr const char* name = "nmg";
  Index n = 1, m = 4, g = 1, axis = 0;
  Dims dims;
  Mask select(const Dense& x, const Hints& hints) const;
  static NmgFit make(const Spec& spec);
};

}  // namespace sten
