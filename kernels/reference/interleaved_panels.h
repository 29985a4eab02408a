// The reference kernels of kernels/interleaved_panels.h.
#pragma once
#include "kernels/interleaved_panels.h"

namespace sten::kernels {

const InterleavedPanelsTable* interleaved_panels_reference(std::int64_t lanes);

}  // namespace sten::kernels
