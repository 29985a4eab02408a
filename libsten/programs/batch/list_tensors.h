// SPDX-License-Identifier: Apache-2.0
// sten-energy --list: the tensors of a checkpoint.
#pragma once
#include "libsten/programs/batch/batch.h"

namespace sten {

// Lists the tensors that the patterns choose, of any rank and dtype; without --include, all. With
// several inputs, rows name their input. Reads the inputs in sequence, one tensor at a time, and
// skips inputs that cannot be read.
Outcome list_tensors(const ManyInputs& many, const Patterns& patterns, bool show_progress);

}  // namespace sten
