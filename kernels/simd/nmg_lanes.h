#pragma once
#include "kernels/nmg_lanes.h"

namespace sten::kernels {

NmgLanesRun* nmg_lanes_avx2();
NmgLanesRun* nmg_lanes_avx512();

}  // namespace sten::kernels
