// SPDX-License-Identifier: Apache-2.0
// Tied weights: tensors that are stored twice.
#pragma once
#include <vector>

#include "libsten/files/checkpoint/checkpoint.h"

namespace sten {

// Returns for each tensor the first one among `chosen` with equal dtype, shape, layout and bytes:
// itself if there is none. Tensors that are not chosen stand for themselves. Empty tensors equal no
// other.
std::vector<std::size_t> first_equals(const Checkpoint& c, const std::vector<std::size_t>& chosen);

// Whether `a` is the transpose of matrix `b`, both dense and of one dtype. Stops at the first
// difference.
bool equals_transposed(const Checkpoint& c, const CheckpointTensor& a, const CheckpointTensor& b);

}  // namespace sten
