// sten-energy --list: what is in a checkpoint.
#pragma once
#include "libsten/run/batch.h"

namespace sten {

// A row for each tensor of any rank and dtype that the patterns choose, all without --include. Rows
// of several inputs, of which only those that could be read have some, say which they are of. Reads
// the inputs one after the other, tensor by tensor.
Outcome list_tensors(const ManyInputs& many, const Patterns& patterns, bool show_progress);

}  // namespace sten
