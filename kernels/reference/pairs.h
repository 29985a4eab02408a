#pragma once
#include "kernels/pairs.h"

namespace sten::kernels {

const PairsTable* pairs_reference();

}  // namespace sten::kernels
