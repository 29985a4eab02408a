// SPDX-License-Identifier: Apache-2.0
// Selection of the weights of an entry with "scope": "global" in training.
#pragma once
#include <vector>

#include "libsten/core/sparsify/sparsifier.h"

namespace sten {

// Selects the positions of a mask, whatever the values.
struct GivenMask {
  static constexpr const char* name = "given-mask";
  Mask mask;
  Mask select(const Dense&, const Hints&) const { return mask; }
  bool selects_on_device(const Dense&) const { return true; }
};

// A weight and its scores on the CPU, if the sparsifier needs them.
struct GlobalWeight {
  Dense value;
  const Dense* scores = nullptr;
};

// The masks of weights under one threshold by a sparsifier of GlobalSelection, each on the device
// of its weight. Selects on the CPU (core/base/fallback.h).
std::vector<GivenMask> global_masks(const Spec& by, const std::vector<GlobalWeight>& weights);

}  // namespace sten
