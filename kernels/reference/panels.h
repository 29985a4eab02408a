#pragma once
#include "kernels/panels.h"

namespace sten::kernels {

const PanelsTable* panels_reference();

}  // namespace sten::kernels
