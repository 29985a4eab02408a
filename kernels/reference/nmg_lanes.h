#pragma once
#include "kernels/nmg_lanes.h"

namespace sten::kernels {

NmgLanesRun* nmg_lanes_reference();

}  // namespace sten::kernels
