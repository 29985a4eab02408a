// The multiply-adds of kernels/peak.h, whatever the compiler makes of them for any CPU.
#pragma once
#include "kernels/peak.h"

namespace sten::kernels {

const PeakTable* peak_reference();

}  // namespace sten::kernels
