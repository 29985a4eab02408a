#pragma once
#include "kernels/pair_panels.h"

namespace sten::kernels {

const PairPanelsTable* pair_panels_reference(std::int64_t lanes);

}  // namespace sten::kernels
