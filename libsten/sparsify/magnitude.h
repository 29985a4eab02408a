// The largest magnitudes of a whole tensor.
#pragma once
#include "libsten/sparsify/sparsifier.h"

namespace sten {

// Masks exactly llround(sparsity * N) elements, smallest magnitude first; among equals the later
// goes first. Scratch: one histogram per thread.
struct Magnitude {
  static constexpr const char* name = "magnitude";
  double sparsity = 0.5;
  Mask select(const Dense& x, const Hints& hints) const;
  Mask select_stored(const Entries& x, const Hints& hints) const;
  bool selects_on_device(const Dense&) const { return true; }
  static Magnitude make(const Spec& spec);
};

}  // namespace sten
