// In which layouts the tensors of a checkpoint take least.
#pragma once
#include <optional>
#include <vector>

#include "libsten/io/checkpoint.h"

namespace sten {

// By number of a tensor, for those chosen: the layout in which it takes the fewest bytes, of those
// that hold all of its numbers other than 0. Of equals its own layout, then dense, then the first
// in reports. One without rows and columns stays as it is. Reads each tensor once.
std::vector<std::optional<Spec>> smallest_layouts(const Checkpoint& in,
                                                  const std::vector<bool>& chosen,
                                                  bool show_progress);

}  // namespace sten
