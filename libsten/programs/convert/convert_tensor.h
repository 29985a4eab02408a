// SPDX-License-Identifier: Apache-2.0
// Conversion of one tensor to another layout.
#pragma once
#include <optional>
#include <string>

#include "libsten/core/registry/route.h"
#include "libsten/core/tensor/tensor.h"

namespace sten {

struct Conversion {
  Spec to;                         // a layout or auto
  std::optional<Spec> sparsifier;  // for positions that a structured layout cannot hold
  bool lossless;
};

// The conversion to a layout other than auto; of nm and nmg with fit=... of the sparsifier. Error
// (usage).
Conversion conversion_to(const Spec& layout, bool lossless);

struct Converted {
  Tensor tensor;
  std::optional<Mask> kept;  // none: all stored positions
  std::string fit;           // how positions were chosen; empty: lossless
  Route route;
  // The layouts between two sparse layouts of a route.
  std::string via() const {
    const bool sparse = route.layouts.size() > 1 && route.layouts.front() != "dense" &&
                        route.layouts.back() != "dense";
    return sparse ? route.str() : "";
  }
};

// Converts a tensor, on its device. A tensor that a structured layout cannot hold is pruned to the
// layout; if `lossless`, dropping a nonzero is an Error (check).
Converted convert_tensor(const Tensor& from, const Conversion& request);

}  // namespace sten
