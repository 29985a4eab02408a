// The reference kernels of kernels/peak.h, compiled for any CPU.
#pragma once
#include "kernels/peak.h"

namespace sten::kernels {

const PeakTable* peak_reference();

}  // namespace sten::kernels
