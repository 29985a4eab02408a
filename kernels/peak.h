// SPDX-License-Identifier: Apache-2.0
// The peak of a core: multiply-adds on registers, enough of them in flight to use all units.
#pragma once
#include <cstdint>

#include "kernels/isa.h"

namespace sten::kernels {

struct PeakTable {
  // Runs FMAs of float32 and returns the floating-point operations done, 2 per lane and FMA.
  double (*run_fmas)(std::int64_t rounds);
  // The same for the instructions that multiply bfloat16 or int8 and sum in 32 bits, 2 operations
  // per product. Without such instructions the result is that of run_fmas.
  double (*run_bf16)(std::int64_t rounds);
  double (*run_int8)(std::int64_t rounds);
};

// nullptr unless has_isa(isa).
const PeakTable* peak_for(Isa isa);
// The table for active_isa().
const PeakTable& peak();

}  // namespace sten::kernels
