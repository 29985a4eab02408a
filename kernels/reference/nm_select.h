// The selection of kernels/nm_select.h in plain loops.
#pragma once
#include "kernels/nm_select.h"

namespace sten::kernels {

const NmSelectTable* nm_select_reference();

}  // namespace sten::kernels
