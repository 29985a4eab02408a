// SPDX-License-Identifier: Apache-2.0
// sten-energy --diff: the differences of two checkpoints.
#pragma once
#include "libsten/programs/rewrite/rewrite.h"

namespace sten {

// Compares the tensors that the patterns choose, one at a time. The report has a row for each
// tensor that only one checkpoint has, or that differs in shape, dtype or values, with the number
// and size of changes (difference.h). Layouts are not compared. Rows are a failed check.
Outcome diff_checkpoints(const std::string& first, const std::string& second,
                         const Patterns& patterns, bool show_progress);

}  // namespace sten
