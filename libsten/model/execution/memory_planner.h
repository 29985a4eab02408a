// SPDX-License-Identifier: Apache-2.0
// Memory planner: offsets in one block for buffers with different lifetimes.
#pragma once
#include <vector>

#include "libsten/core/base/shape.h"

namespace sten {

struct BufferLifetime {
  Index size;         // in any unit
  Index first, last;  // the steps of its lifetime, inclusive
  Index at = 0;       // its offset, from plan_memory()
};

// Assigns offsets such that buffers with overlapping lifetimes do not overlap. Returns the total
// size, which is often but not always minimal: places the largest buffers first, each at the lowest
// offset.
Index plan_memory(std::vector<BufferLifetime>& lifetimes);

// Size of the live buffers in each of the steps [0, steps).
std::vector<Index> live_size_by_step(const std::vector<BufferLifetime>& lifetimes, Index steps);
// The maximum of the live size.
Index peak_live_size(const std::vector<BufferLifetime>& lifetimes);

}  // namespace sten
