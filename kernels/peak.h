// The most a core can do: fused multiply-adds of registers, as many at once as it has units for.
#pragma once
#include <cstdint>

#include "kernels/isa.h"

namespace sten::kernels {

// Floating-point operations done, 2 for each lane of an FMA. The ISA is one that has_isa() names.
double run_fmas(Isa isa, std::int64_t rounds);

}  // namespace sten::kernels
