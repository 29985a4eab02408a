// The most a core can do: multiply-adds of registers, as many at once as it has units for.
#pragma once
#include <cstdint>

#include "kernels/isa.h"

namespace sten::kernels {

struct PeakTable {
  // Floating-point operations done, 2 for each lane of an FMA.
  double (*run_fmas)(std::int64_t rounds);
  // The same of the instructions that multiply bfloat16, and int8, and sum in 32 bits, 2 for each
  // pair; of an ISA without them what run_fmas does, as it computes with numbers made wider.
  double (*run_bf16)(std::int64_t rounds);
  double (*run_int8)(std::int64_t rounds);
};

// nullptr where has_isa() says no.
const PeakTable* peak_for(Isa isa);
// Of active_isa().
const PeakTable& peak();

}  // namespace sten::kernels
