// The tables of kernels/peak.h by ISA; nullptr if the build lacks it.
#pragma once
#include "kernels/peak.h"

namespace sten::kernels {

const PeakTable* peak_avx2();
const PeakTable* peak_avx512();
const PeakTable* peak_avx512_bf16();
const PeakTable* peak_amx();

}  // namespace sten::kernels
