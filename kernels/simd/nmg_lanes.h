// The tables of kernels/nmg_lanes.h by ISA; nullptr if the build lacks it.
#pragma once
#include "kernels/nmg_lanes.h"

namespace sten::kernels {

const NmgLanesTable* nmg_lanes_avx2();
const NmgLanesTable* nmg_lanes_avx512();

}  // namespace sten::kernels
