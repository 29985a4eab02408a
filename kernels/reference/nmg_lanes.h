// The reference kernels of kernels/nmg_lanes.h.
#pragma once
#include "kernels/nmg_lanes.h"

namespace sten::kernels {

const NmgLanesTable* nmg_lanes_reference();

}  // namespace sten::kernels
