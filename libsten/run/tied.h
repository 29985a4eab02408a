// Tensors that are probably one, stored twice.
#pragma once
#include <vector>

#include "libsten/io/checkpoint.h"

namespace sten {

// For each tensor number the first one, among `chosen`, that is equal to it in dtype, shape, layout
// and bytes: itself where there is none before it. Others stand for themselves. Empty tensors are
// equal to none.
std::vector<std::size_t> first_equals(const Checkpoint& c, const std::vector<std::size_t>& chosen);

// Whether `a` is the matrix `b` with rows for columns, both dense and of one dtype. Stops at the
// first other element.
bool equals_transposed(const Checkpoint& c, const CheckpointTensor& a, const CheckpointTensor& b);

}  // namespace sten
