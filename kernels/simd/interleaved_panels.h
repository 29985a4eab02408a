// The tables of kernels/interleaved_panels.h by ISA; nullptr if the build lacks it.
#pragma once
#include "kernels/interleaved_panels.h"

namespace sten::kernels {

const InterleavedPanelsTable* interleaved_panels_avx2(std::int64_t lanes);
const InterleavedPanelsTable* interleaved_panels_avx512(std::int64_t lanes);
const InterleavedPanelsTable* interleaved_panels_avx512_bf16(std::int64_t lanes);

}  // namespace sten::kernels
