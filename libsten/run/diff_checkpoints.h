// sten-energy --diff: what two checkpoints do not have in common.
#pragma once
#include "libsten/run/rewrite.h"

namespace sten {

// A row for each tensor, of those whose names the patterns choose, that is in one alone, or has
// another shape, dtype or value: what numbers changed, and by how much (difference.h). Layouts do
// not count. The failure is that of a check where there are such rows. Reads tensor by tensor.
Outcome diff_checkpoints(const std::string& first, const std::string& second,
                         const Patterns& patterns, bool show_progress);

}  // namespace sten
