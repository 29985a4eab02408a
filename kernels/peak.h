// The most a core can do: fused multiply-adds of registers, as many at once as it has units for.
#pragma once
#include <cstdint>

#include "kernels/isa.h"

namespace sten::kernels {

struct PeakTable {
  // Floating-point operations done, 2 for each lane of an FMA.
  double (*run_fmas)(std::int64_t rounds);
};

// nullptr where has_isa() says no.
const PeakTable* peak_for(Isa isa);
// Of active_isa().
const PeakTable& peak();

}  // namespace sten::kernels
