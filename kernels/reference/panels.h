// The reference kernels of kernels/panels.h.
#pragma once
#include "kernels/panels.h"

namespace sten::kernels {

const PanelsTable* panels_reference(std::int64_t lanes);

}  // namespace sten::kernels
