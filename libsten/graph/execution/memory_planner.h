// Places in one block of memory for what is needed at different times.
#pragma once
#include <vector>

#include "libsten/base/shape.h"

namespace sten {

struct BufferLifetime {
  Index size;         // of any unit
  Index first, last;  // the steps in which it is held, both included
  Index at = 0;       // its place, from plan_memory()
};

// Places such that no two that are held in one step overlap. Returns the size of all of it, which is
// often, but not always, the least that is possible: the largest are placed first, each as low as it
// can be.
Index plan_memory(std::vector<BufferLifetime>& lifetimes);

// The size of all that is held in each of the steps [0, steps).
std::vector<Index> live_size_by_step(const std::vector<BufferLifetime>& lifetimes, Index steps);
// The most that is held in one step.
Index peak_live_size(const std::vector<BufferLifetime>& lifetimes);

}  // namespace sten
