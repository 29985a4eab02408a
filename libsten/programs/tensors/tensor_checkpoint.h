// SPDX-License-Identifier: Apache-2.0
// Tensors in memory as the input of a program.
#pragma once
#include "libsten/programs/rewrite/selection.h"
#include "libsten/programs/tensors/tensor_programs.h"

namespace sten {

// A checkpoint of the tensors in the same order: a file in memory, to which they are copied, so
// that programs select and compare tensors as in any file. `name` is for messages. Error for
// invalid and duplicate names.
Checkpoint checkpoint_of(const TensorList& tensors, const std::string& name = "tensors");

inline Patterns patterns_of(const TensorPatterns& p) { return {p.include, p.exclude}; }

// The description of a single tensor, named "tensor". Error (usage) if it is unfit.
TensorInfo single(const Tensor& x, Purpose purpose);

}  // namespace sten
