// SPDX-License-Identifier: Apache-2.0
// The smallest layout of each tensor of a checkpoint.
#pragma once
#include <optional>
#include <vector>

#include "libsten/files/checkpoint/checkpoint.h"

namespace sten {

// Returns for each chosen tensor the layout with the fewest bytes that holds all nonzero values.
// Among equals, the tensor's own layout comes first, then dense, then the order of reports. Tensors
// that are not matrices are unchanged. Reads each tensor once.
std::vector<std::optional<Spec>> smallest_layouts(const Checkpoint& in,
                                                  const std::vector<bool>& chosen,
                                                  bool show_progress);

}  // namespace sten
