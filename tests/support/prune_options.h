// SPDX-License-Identifier: Apache-2.0
// Options of sten-prune for tests.
#pragma once
#include "libsten/programs/plan/prune_options.h"

namespace sten::testing {

// Prunes to a structure, in a layout; without an input and an output.
inline PruneOptions prune_options(const std::string& structure = "unstructured",
                                  const std::string& to = "dense") {
  PruneOptions o;
  o.tensors.structure = Spec::parse(structure);
  o.tensors.to = Spec::parse(to);
  return o;
}

}  // namespace sten::testing
