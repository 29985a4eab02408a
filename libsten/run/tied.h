// Tensors that are probably one, stored twice.
#pragma once
#include <vector>

#include "libsten/io/checkpoint.h"

namespace sten {

// For each tensor number the first one, among `chosen`, that is equal to it in dtype, shape, layout
// and bytes: itself where there is none before it. Others stand for themselves. Empty tensors are
// equal to none.
std::vector<std::size_t> first_equals(const Checkpoint& c, const std::vector<std::size_t>& chosen);

}  // namespace sten
